/// Which text of Native SSO a request follows. The `actor_token_type` selects it, never a claim of the id_token.
public enum Profile: String, Sendable, CaseIterable {
    /// The 2018 slides: the app makes a `device_id`, the id_token holds `di_hash`.
    case deviceID = "device-id"

    /// Drafts 02 to 06: `device_secret` and `ds_hash` under the older `urn:x-oath:` type.
    case deviceSecretTransitional = "device-secret-x-oath"

    /// Draft 07, the second Implementer's Draft: `device_secret` and `ds_hash` under `urn:openid:`.
    case deviceSecret = "device-secret"

    /// Native SSO draft 07 §4.1: a `scope`, where present, must contain `openid`. The older texts do not ask for it.
    public var requiresOpenIDScope: Bool { self == .deviceSecret }
}
