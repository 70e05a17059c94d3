"""From curves to tables, pictures and pages. Nothing here runs a method."""
