import OAuthWire

/// Requests to the app's APIs.
extension AppLogin {
    /// Sends a request with the app's access token. After a 401 it renews the token and sends the request once more.
    ///
    /// If the token is bound to the app's DPoP key, the request carries a proof, with the nonce that the API asked for
    /// (RFC 9449 §9).
    /// - Parameter request: Without `Authorization`. Its address must have TLS, or be at this machine.
    /// - Returns: The API's response, whatever its status. A second 401 is returned: the API refuses this app.
    /// - Throws: ``ClientError``, if there is no token or no response.
    public func send(_ request: TransportRequest) async throws(ClientError) -> TransportResponse {
        guard SecureAddress.isSecure(request.address) else { throw .insecureAddress(request.address) }
        let tokens = try await tokens()
        var token = try await tokens.token()
        var response = try await send(request, with: token)
        if response.asksForProofNonce { response = try await send(request, with: token) }
        guard response.status == 401 else { return response }
        token = try await tokens.token(insteadOf: token.value)
        return try await send(request, with: token)
    }

    /// Sends a request as ``send(_:)`` does. If there is no token without the user, it opens the browser for a login and
    /// sends the request once more.
    ///
    /// It starts one login by itself, for all calls at that time. If that login does not help, later calls throw and open no
    /// browser, until a call has succeeded. When the user asks, call ``logIn(prompt:meeting:in:)``, with `prompt: "login"`: otherwise the IdP's
    /// session may answer with the login that the broker refuses.
    /// - Parameters:
    ///   - request: As for ``send(_:)``.
    ///   - browser: As for ``logIn(prompt:meeting:in:)``.
    /// - Returns: The API's response, whatever its status.
    /// - Throws: ``ClientError``, of the request or of the login.
    public func send(
        _ request: TransportRequest, loggingInWith browser: @escaping Browser
    ) async throws(ClientError) -> TransportResponse {
        let hadLogin = ownLogin?.isOver == true
        var response: TransportResponse
        do throws(ClientError) {
            response = try await send(request)
            if hadLogin { ownLogin = nil }
        } catch {
            guard !hadLogin, let demand = error.remedy(after: .exchange).login else { throw error }
            // Another call may have opened the browser meanwhile: its login helps this one, too.
            let login = ownLogin ?? startLogin(meeting: demand, in: browser)
            try await login.task.value.get()
            response = try await send(request)
            ownLogin = nil
        }
        return response
    }

    private func startLogin(meeting demand: LoginDemand, in browser: @escaping Browser) -> OwnLogin {
        let login = OwnLogin(
            task: Task {
                let result: Result<Void, ClientError>
                do throws(ClientError) {
                    _ = try await logIn(meeting: demand, in: browser)
                    result = .success(())
                } catch {
                    result = .failure(error)
                }
                ownLogin?.isOver = true
                return result
            })
        ownLogin = login
        return login
    }

    private func send(
        _ request: TransportRequest, with token: AppTokens.AccessToken
    ) async throws(ClientError) -> TransportResponse {
        var request = request
        // A broker that ignores the app's proofs issues bearer tokens, and APIs refuse those as DPoP tokens.
        guard token.isBoundToKey, let proofs = proofs(for: request.address) else {
            request.fields.append(("Authorization", "Bearer \(token.value.secret)"))
            return try await transport.answer(request)
        }
        request.fields.append(("Authorization", "DPoP \(token.value.secret)"))
        request.fields.append(
            ("DPoP", try await proofs.proof(request.method, for: request.address, accessToken: token.value)))
        let response = try await transport.answer(request)
        if let nonce = response[field: "DPoP-Nonce"] { await proofs.note(nonce) }
        return response
    }
}

extension Remedy {
    /// What a login must meet; nil: a login does not help.
    fileprivate var login: LoginDemand? {
        switch self {
        case .logIn: LoginDemand()
        case .openBrowser(let demand): demand
        case .retry, .exchangeAgain, .none: nil
        }
    }
}

extension TransportResponse {
    /// RFC 9449 §9.
    fileprivate var asksForProofNonce: Bool {
        status == 401 && self[field: "DPoP-Nonce"] != nil
            && self[field: "WWW-Authenticate"]?.contains("use_dpop_nonce") == true
    }
}
