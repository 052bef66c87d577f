"""The keeper: rules that say of each change and each call whether it is allowed, asked about, or denied."""
