"""What the App shows and does: the form and its operators, the panel, and how FiftyOne finds them."""
