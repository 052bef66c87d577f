"""Programs of the tests that run inside a guest, with the Python that has tacid (`tacid-python`)."""
