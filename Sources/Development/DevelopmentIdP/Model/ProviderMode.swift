/// What the provider knows of Native SSO.
package enum ProviderMode: String, Sendable, CaseIterable {
    /// Nothing: an ordinary OpenID provider. Its id_tokens carry no `sid` and no device hash; `device_id` and the scope
    /// `device_sso` mean nothing to it.
    case plain
    /// It stamps its id_tokens itself: `sid` with `di_hash` where the app sent a `device_id` (2018 profile), or with
    /// `ds_hash` where the granted scope holds `device_sso` (current profile, which also returns a `device_secret`).
    case stamping
}
