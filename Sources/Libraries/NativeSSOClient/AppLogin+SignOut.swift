import OAuthWire

/// Signing out.
extension AppLogin {
    /// How much to sign out of.
    public enum SignOut: Sendable {
        /// This app. The vendor's other apps, and the login, stay.
        case thisApp
        /// Every app of the sharing group on this device.
        case device
    }

    /// Ends this app's grant, or every session of the device, at the broker; then removes what the keychains hold of it.
    ///
    /// After `.thisApp` there is no token until ``exchange()`` or ``logIn(prompt:meeting:in:)``. The login at the IdP lives
    /// on: see ``signOutAtProvider(returningTo:in:)``.
    /// - Throws: ``ClientError``. Repeat the call: it ends and removes what is left. Without a network it fails.
    public func signOut(_ extent: SignOut) async throws(ClientError) {
        let tokens = try await tokens()
        guard let address = try await metadata(of: configuration.broker).revocationEndpoint else {
            throw .untrustedMetadata(.missing("revocation_endpoint"))
        }
        let refreshToken = try await tokens.refreshToken()
        switch extent {
        case .thisApp:
            if let refreshToken { try await tokens.endpoint.revoke(refreshToken, at: address) }
        case .device:
            guard let (login, revision) = try await SharedLogin.stored(in: shared) else { break }
            switch login.device {
            case .secret(let secret), .transitionalSecret(let secret):
                try await tokens.endpoint.revoke(secret, hint: Parameter.deviceSecret, at: address)
            case .identifier(let device):
                // The refresh token proves that the caller is an app of this device.
                if refreshToken == nil { _ = try await tokens.exchange() }
                guard let refreshToken = try await tokens.refreshToken() else { throw .notLoggedIn }
                try await tokens.endpoint.revoke(refreshToken, device: device, at: address)
            }
            do {
                // Not a login that another app has stored since.
                _ = try await shared.replaceItem(SharedLogin.item, revision, with: nil)
            } catch {
                throw .keychain(error)
            }
        }
        try await tokens.signOut()
    }

    /// Ends the session at the IdP: opens its logout page in the browser. OpenID Connect RP-Initiated Logout §2.
    ///
    /// Call it before ``signOut(_:)`` with `.device`, which removes the id_token that the IdP recognises the session by.
    /// - Parameters:
    ///   - address: The app's registered `post_logout_redirect_uri`; nil: the browser stays at the IdP.
    ///   - browser: Opens the address.
    /// - Throws: ``ClientError``: `untrustedMetadata(.missing)` if the IdP has no such page.
    public func signOutAtProvider(
        returningTo address: String? = nil, in browser: Browser
    ) async throws(ClientError) {
        guard let endpoint = try await metadata(of: configuration.provider).endSessionEndpoint else {
            throw .untrustedMetadata(.missing("end_session_endpoint"))
        }
        var request: [(name: String, value: String)] = []
        let login = try await SharedLogin.stored(in: shared)?.login
        if let hint = configuration.sharing == .provider ? login?.idToken : login?.providerIDToken {
            request.append(("id_token_hint", hint.secret))
        }
        request.append((Parameter.clientID, configuration.providerClientID))
        let state = RandomText.make()
        if let address {
            request += [("post_logout_redirect_uri", address), ("state", state)]
        }
        let callback: String
        do {
            callback = try await browser(AuthorizationRequest.adding(request, to: endpoint))
        } catch {
            throw .browser(error)
        }
        guard let address else { return }
        do throws(CallbackError) {
            _ = try Callback.parameters(of: callback, at: address, state: state)
        } catch {
            throw .callback(error)
        }
    }
}
