"""The mathematics: pure functions on float64 arrays, arrays in and arrays out."""
