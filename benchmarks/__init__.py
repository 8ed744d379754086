"""Side-by-side comparisons with peers: ratios in one process, results compared as well as times."""
