/// What the endpoints share.
struct Provider: Sendable {
    let configuration: ProviderConfiguration
    let users: UserDirectory
    let signingKey: SigningKey
    let state: ProviderState
    let sessionEndListeners: [any SessionEndListener]
    /// Seconds since 1970 (RFC 7519 §2 NumericDate).
    let now: @Sendable () -> Int64

    /// The scopes that mean something here.
    var supportedScopes: [String] {
        ["openid", "profile", "email", "offline_access"] + (configuration.mode == .stamping ? ["device_sso"] : [])
    }

    func endSession(sid: String) async {
        guard let ended = await state.endSession(sid: sid) else { return }
        for listener in sessionEndListeners { await listener.sessionEnded(ended) }
    }
}
