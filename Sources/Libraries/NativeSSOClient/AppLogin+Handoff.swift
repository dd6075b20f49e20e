public import OAuthWire

/// Handing the login to a web app in the device's browser.
extension AppLogin {
    /// Asks the broker for a code, which the app then opens at the web app in the browser.
    ///
    /// The web app begins: it opens the app by a link with its challenge. Build the address of the code from the app's own
    /// settings, and not from that link: an attacker can send a link, too. The operator allows the hand-off
    /// (`--handoff`, `--handoff-origin`).
    /// - Parameters:
    ///   - webApp: The `client_id` of the web app.
    ///   - origin: Where the app opens the code, such as `https://web.example.com`.
    ///   - challenge: The challenge of the link.
    ///   - scope: The largest scope of the web app; nil: its default.
    /// - Returns: The code. It is good once, for 60 s.
    /// - Throws: ``ClientError``. A refusal may concern the web app alone: keep the login, and let the user log in in the
    ///   browser.
    public func handOff(
        to webApp: String, origin: String, challenge: String, scope: String? = nil
    ) async throws(ClientError) -> Credential {
        let tokens = try await tokens()
        guard let login = try await SharedLogin.stored(in: shared)?.login else { throw .notLoggedIn }
        return try await tokens.endpoint.handOff(
            login, issuer: configuration.loginIssuer, to: webApp, origin: origin, challenge: challenge, scope: scope)
    }
}
