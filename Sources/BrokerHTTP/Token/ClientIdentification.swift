import NativeSSO
import OAuthWire

/// Who is asking.
struct IdentifiedClient: Sendable {
    let client: Client
    let caller: ClientAddress?
    /// What it proves that with, where that is good for one request: to be used up before anything is done.
    let assertion: VerifiedAssertion?
}

/// Finds out which registered client is asking, and makes a confidential one prove it.
struct ClientIdentification: Sendable {
    let directory: any ClientDirectory
    let authenticator: ClientAuthenticator
    let assertions: any AssertionRegister
    let limiter: RequestLimiter

    /// Everything but whether an assertion was used before.
    func identify(
        authorization: [String], _ parameters: ClientParameters, from caller: ClientAddress?
    ) throws(TokenError) -> IdentifiedClient {
        let presented = try TokenError.refusing { () throws(Refusal) in
            try PresentedClient(authorization: authorization, parameters)
        }
        let client = try registered(presented)

        func refused(_ reason: ClientRefusal) -> TokenError {
            let failure = Refusal.ClientFailure(
                reason: reason, client: client?.id, usedAuthorization: presented.usedAuthorization)
            return presented.credential == nil ? .refused(.client(failure)) : failed(failure, from: caller)
        }
        // Before anything is known of the client, so that an unknown one is verified, too.
        var finding = ClientAuthenticator.Finding.good
        if let credential = presented.credential {
            if let client {
                try TokenError.counting { () throws(RateLimited) in
                    try limiter.checkFailures(of: client.id, from: caller)
                }
            }
            finding = try TokenError.port { () throws(PortError) in
                try authenticator.verify(credential, of: client?.id)
            }
        }
        guard let client else { throw refused(.unknown) }
        guard client.isEnabled else { throw refused(.disabled) }
        guard client.authentication == presented.method else { throw refused(.methodMismatch) }
        let assertion: VerifiedAssertion?
        switch finding {
        case .good: assertion = nil
        case .goodOnce(let verified): assertion = verified
        case .refused(let reason): throw refused(reason)
        }
        if presented.credential != nil {
            try TokenError.counting { () throws(RateLimited) in try limiter.charge(authenticated: client.id) }
        }
        return IdentifiedClient(client: client, caller: caller, assertion: assertion)
    }

    /// Uses the client's assertion up, if it has one. Refused where it was used before, here or at another replica.
    ///
    /// Nothing but the grant itself comes after it: what is refused for the client or for the form of the request uses nothing
    /// up. What the grant then refuses or cannot do has cost the assertion.
    func use(_ identified: IdentifiedClient) async throws(TokenError) {
        guard let assertion = identified.assertion else { return }
        let isFirstUse = try await TokenError.port { () async throws(PortError) in
            try await assertions.use(assertion.id, until: assertion.until)
        }
        guard isFirstUse else {
            throw failed(
                Refusal.ClientFailure(
                    reason: .assertionReplayed, client: identified.client.id, usedAuthorization: false),
                from: identified.caller)
        }
    }

    /// Something was offered as proof, and is none. Whoever does so again and again is told to wait; only registered clients
    /// are counted, so that nobody can make names up.
    private func failed(_ failure: Refusal.ClientFailure, from caller: ClientAddress?) -> TokenError {
        do throws(RateLimited) {
            if let client = failure.client { try limiter.charge(failureOf: client, from: caller) }
            return .refused(.client(failure))
        } catch {
            return .limited(error)
        }
    }

    /// `nil` also for what cannot be an identifier.
    private func registered(_ presented: PresentedClient) throws(TokenError) -> Client? {
        guard let id = ClientID(presented.id) else { return nil }
        return try TokenError.port { () throws(PortError) in try directory.client(id) }
    }
}
