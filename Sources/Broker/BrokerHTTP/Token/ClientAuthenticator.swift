import NativeSSO
import OAuthWire

/// What a confidential client offers as proof of who it is. It prints as `****`.
enum ClientCredential: Sendable {
    /// RFC 6749 §2.3.1.
    case secret(Credential)
    /// RFC 7523 §2.2: taken apart, or why it cannot be.
    case assertion(Result<ClientAssertion, ClientRefusal>)
}

/// Verifies what clients prove themselves with.
struct ClientAuthenticator: Sendable {
    /// Ours: the one audience that an assertion may have.
    let issuer: Issuer
    let directory: any ClientDirectory
    let keys: ClientKeySets
    let clock: any WallClock

    /// What was found about a credential.
    enum Finding: Sendable {
        case good
        /// Good, unless it was used before.
        case goodOnce(PresentedAssertion)
        case refused(ClientRefusal)
    }

    /// - Parameter client: `nil` for an unknown one: an assertion in its name is refused after a verification, too.
    func verify(_ credential: ClientCredential, of client: ClientID?) throws(PortError) -> Finding {
        let registered = if let client { try directory.credentials(of: client) } else { ClientCredentials.none }
        switch credential {
        case .secret(let secret):
            let presented = ClientSecretDigest(of: secret.secret)
            return Self.isAny(of: registered.secrets, presented) ? .good : .refused(.authenticationFailed)
        case .assertion(.failure(let reason)):
            return .refused(reason)
        case .assertion(.success(let assertion)):
            let usable = client.flatMap { keys.keys(of: $0, registered.keys) }
            let key = try AssertionKey(for: assertion.header, among: usable)
            do throws(ClientRefusal) {
                let token = try assertion.verified(by: key)
                guard let client else { throw .unknown }
                return .goodOnce(try PresentedAssertion(token, of: client, at: issuer, now: clock.now))
            } catch {
                return .refused(error)
            }
        }
    }

    /// Looks at every secret.
    private static func isAny(of registered: [ClientSecretDigest], _ presented: ClientSecretDigest) -> Bool {
        var isAny = false
        for digest in registered {
            let matches = presented.matches(digest)
            isAny = isAny || matches
        }
        return isAny
    }
}
