"""A shop in Django: an order and its money commit together, or not at all."""
