"""Tables, figures and a page from the rows of experiments, with the paper's numbers beside ours."""
