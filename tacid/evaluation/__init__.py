"""How good a way of offering tools is: BFCL's questions, a gate that can fail, and a page of what came out."""
