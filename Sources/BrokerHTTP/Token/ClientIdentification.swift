import NativeSSO
import OAuthWire

/// Finds out which registered client is asking, and makes a confidential one prove it.
struct ClientIdentification: Sendable {
    let directory: any ClientDirectory
    let authenticators: [Client.Authentication: any ClientAuthenticator]

    func identify(authorization: [String], _ parameters: ClientParameters) async throws(TokenError) -> Client {
        let presented = try TokenError.refusing { () throws(Refusal) in
            try PresentedClient(authorization: authorization, parameters)
        }
        let authenticator = authenticators[presented.method]
        let client = try registered(presented, authenticator)

        func refused(_ reason: ClientRefusal) -> TokenError {
            .refused(
                .client(
                    Refusal.ClientFailure(
                        reason: reason, client: client?.id, usedAuthorization: presented.usedAuthorization)))
        }
        // Before anything is known of the client, so that an unknown one takes no less time.
        var isVerified = false
        if let credential = presented.credential, let authenticator {
            isVerified = try await TokenError.port { () async throws(PortError) in
                try await authenticator.verify(credential, of: client)
            }
        }
        guard let client else { throw refused(.unknown) }
        guard client.isEnabled else { throw refused(.disabled) }
        guard client.authentication == presented.method else { throw refused(.methodMismatch) }
        if presented.credential != nil {
            guard authenticator != nil else { throw refused(.methodUnavailable) }
            guard isVerified else { throw refused(.authenticationFailed) }
        }
        return client
    }

    /// `nil` also for what cannot be an identifier.
    private func registered(
        _ presented: PresentedClient, _ authenticator: (any ClientAuthenticator)?
    ) throws(TokenError) -> Client? {
        let claimed = presented.credential.flatMap { authenticator?.claimedClient($0) }
        let id: ClientID
        switch (presented.id, claimed) {
        case (let text?, let claimed):
            guard let named = ClientID(text) else { return nil }
            // RFC 7521 §4.2: a client_id beside an assertion must name the same client.
            if let claimed, claimed != named { return nil }
            id = named
        case (nil, let claimed?): id = claimed
        case (nil, nil): return nil
        }
        return try TokenError.port { () throws(PortError) in try directory.client(id) }
    }
}
