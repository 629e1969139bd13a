"""Which hyper-parameters suit the rows: validated searches over typed settings."""
