import NativeSSO
import OAuthWire

/// Who is asking.
struct IdentifiedClient: Sendable {
    let client: Client
    /// What it proves that with, where that is good for one request: to be used up before anything is done.
    let assertion: VerifiedAssertion?
}

/// Finds out which registered client is asking, and makes a confidential one prove it.
struct ClientIdentification: Sendable {
    let directory: any ClientDirectory
    let authenticator: ClientAuthenticator
    let assertions: any AssertionRegister

    /// Everything but whether an assertion was used before.
    func identify(authorization: [String], _ parameters: ClientParameters) throws(TokenError) -> IdentifiedClient {
        let presented = try TokenError.refusing { () throws(Refusal) in
            try PresentedClient(authorization: authorization, parameters)
        }
        let client = try registered(presented)

        func refused(_ reason: ClientRefusal) -> TokenError {
            .refused(
                .client(
                    Refusal.ClientFailure(
                        reason: reason, client: client?.id, usedAuthorization: presented.usedAuthorization)))
        }
        // Before anything is known of the client, so that an unknown one is verified, too.
        var finding = ClientAuthenticator.Finding.good
        if let credential = presented.credential {
            finding = try TokenError.port { () throws(PortError) in
                try authenticator.verify(credential, of: client?.id)
            }
        }
        guard let client else { throw refused(.unknown) }
        guard client.isEnabled else { throw refused(.disabled) }
        guard client.authentication == presented.method else { throw refused(.methodMismatch) }
        return switch finding {
        case .good: IdentifiedClient(client: client, assertion: nil)
        case .goodOnce(let assertion): IdentifiedClient(client: client, assertion: assertion)
        case .refused(let reason): throw refused(reason)
        }
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
            throw .refused(
                .client(
                    Refusal.ClientFailure(
                        reason: .assertionReplayed, client: identified.client.id, usedAuthorization: false)))
        }
    }

    /// `nil` also for what cannot be an identifier.
    private func registered(_ presented: PresentedClient) throws(TokenError) -> Client? {
        guard let id = ClientID(presented.id) else { return nil }
        return try TokenError.port { () throws(PortError) in try directory.client(id) }
    }
}
