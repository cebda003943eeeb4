"""The steps of the page, one module each. A step is a function from a request to a page."""
