import HTTPServer
package import Logging
package import NativeSSO
import OAuthWire

/// Identifies the registered client of a request, and authenticates a confidential one. Every endpoint for clients shares
/// one, so that failures at all of them count together.
package struct ClientIdentification: Sendable {
    let directory: any ClientDirectory
    let authenticator: ClientAuthenticator
    let assertions: any AssertionRegister
    let limiter: RequestLimiter

    /// - Parameters:
    ///   - issuer: Ours: an audience of client assertions.
    ///   - tokenEndpoint: The URL of the token endpoint: the other one, for clients that are registered for it.
    ///   - assertions: The used client assertions, of all replicas.
    package init(
        issuer: Issuer, tokenEndpoint: String, directory: any ClientDirectory, assertions: any AssertionRegister,
        limiter: RequestLimiter, clock: any WallClock, logger: Logger
    ) {
        self.directory = directory
        authenticator = ClientAuthenticator(
            issuer: issuer, tokenEndpoint: tokenEndpoint, directory: directory, keys: ClientKeySets(logger: logger),
            clock: clock)
        self.assertions = assertions
        self.limiter = limiter
    }

    /// Counts a request by its sender, before anything of it is read.
    func begin(_ arrival: Arrival, _ record: inout RequestRecord) throws(TokenError) -> ReceivedRequest {
        switch arrival {
        case .fault(let fault, from: let caller):
            try count(caller, &record)
            throw .refused(.wire(fault))
        case .request(let request):
            record.trace = request.trace
            try count(request.client, &record)
            return request
        }
    }

    private func count(_ caller: ClientAddress?, _ record: inout RequestRecord) throws(TokenError) {
        record.caller = caller
        try TokenError.counting { () throws(RateLimited) in try limiter.charge(requestFrom: caller) }
    }

    /// Checks everything except whether an assertion was used before.
    /// - Parameter record: Receives the registered client, even if it is then refused.
    /// - Returns: Also the client's assertion, which the caller must consume: it is good for one request.
    func identify(
        authorization: [String], _ form: FormParameters, _ record: inout RequestRecord
    ) throws(TokenError) -> (Client, PresentedAssertion?) {
        let caller = record.caller
        let presented = try TokenError.refusing { () throws(Refusal) in
            try PresentedClient(authorization: authorization, form)
        }
        let client = try registered(presented)
        record.client = client?.id

        func refused(_ reason: ClientRefusal) -> TokenError {
            let failure = Refusal.ClientFailure(
                reason: reason, client: client?.id, usedAuthorization: presented.usedAuthorization)
            return presented.credential == nil
                ? .refused(.client(failure)) : failed(failure, presented.id, from: caller)
        }
        // Before the client is known, so that an unknown client costs a verification, too.
        var finding = ClientAuthenticator.Finding.good
        if let credential = presented.credential {
            finding = try TokenError.port { () throws(PortError) in
                try authenticator.verify(credential, of: client)
            }
        }
        guard let client else { throw refused(.unknown) }
        guard client.isEnabled else { throw refused(.disabled) }
        guard client.authentication == presented.method else { throw refused(.methodMismatch) }
        let assertion: PresentedAssertion?
        switch finding {
        case .good: assertion = nil
        case .goodOnce(let verified): assertion = verified
        case .refused(let reason): throw refused(reason)
        }
        if presented.credential != nil {
            try TokenError.counting { () throws(RateLimited) in try limiter.charge(authenticated: client.id) }
        }
        record.presentedClient = presented.id
        record.assertion = form[Parameter.clientAssertion].map(Credential.init)
        return (client, assertion)
    }

    /// Consumes the client's assertion, if there is one, for a grant whose own statement does not. Refuses an assertion
    /// that any replica has seen. A later refusal or outage does not restore it.
    func use(_ assertion: PresentedAssertion?, _ record: RequestRecord) async throws(TokenError) {
        guard let assertion else { return }
        let isFirstUse = try await TokenError.port { () async throws(PortError) in
            try await assertions.use(assertion.id, until: assertion.until)
        }
        guard isFirstUse else { throw replayed(record) }
    }

    /// The refusal of an assertion that was used before.
    func replayed(_ record: RequestRecord) -> TokenError {
        failed(
            Refusal.ClientFailure(reason: .assertionReplayed, client: record.client, usedAuthorization: false),
            record.presentedClient, from: record.caller)
    }

    /// A failed client authentication. Repeated failures under one name, registered or not, are throttled.
    private func failed(
        _ failure: Refusal.ClientFailure, _ presentedID: String, from caller: ClientAddress?
    ) -> TokenError {
        do throws(RateLimited) {
            try limiter.charge(failureOf: presentedID, from: caller)
            return .refused(.client(failure))
        } catch {
            return .limited(error)
        }
    }

    /// `nil` also if the text cannot be an identifier.
    private func registered(_ presented: PresentedClient) throws(TokenError) -> Client? {
        guard let id = ClientID(presented.id) else { return nil }
        return try TokenError.port { () throws(PortError) in try directory.client(id) }
    }
}

/// The credential of a confidential client. It prints as `****`.
enum ClientCredential: Sendable {
    /// RFC 6749 §2.3.1.
    case secret(Credential)
    /// RFC 7523 §2.2: the parsed assertion, or why it cannot be parsed.
    case assertion(Result<ClientAssertion, ClientRefusal>)
}

struct ClientAuthenticator: Sendable {
    /// The broker's own: the audience of assertions.
    let issuer: Issuer
    /// The URL of `POST /token`: a second audience for clients that may name it.
    let tokenEndpoint: String
    let directory: any ClientDirectory
    let keys: ClientKeySets
    let clock: any WallClock

    enum Finding: Sendable {
        case good
        /// Good, unless it was used before.
        case goodOnce(PresentedAssertion)
        case refused(ClientRefusal)
    }

    /// - Parameter client: `nil` for an unknown one: an assertion in its name also costs a verification before it is
    ///   refused.
    func verify(_ credential: ClientCredential, of client: Client?) throws(PortError) -> Finding {
        let registered = if let client { try directory.credentials(of: client.id) } else { ClientCredentials.none }
        switch credential {
        case .secret(let secret):
            let presented = ClientSecretDigest(of: secret.secret)
            return Self.isAny(of: registered.secrets, presented) ? .good : .refused(.authenticationFailed)
        case .assertion(.failure(let reason)):
            return .refused(reason)
        case .assertion(.success(let assertion)):
            let usable = try keys.keys(of: client?.id, registered.keys)
            let key = try AssertionKey(for: assertion.header, among: usable)
            do throws(ClientRefusal) {
                let token = try assertion.verified(by: key)
                guard let client else { throw .unknown }
                return .goodOnce(try PresentedAssertion(token, of: client, at: names(for: client), now: clock.now))
            } catch {
                return .refused(error)
            }
        }
    }

    private func names(for client: Client) -> [String] {
        switch client.assertionAudience {
        case .issuer: [issuer.string]
        case .tokenEndpoint: [issuer.string, tokenEndpoint]
        }
    }

    /// Always compares every secret.
    private static func isAny(of registered: [ClientSecretDigest], _ presented: ClientSecretDigest) -> Bool {
        var isAny = false
        for digest in registered {
            let matches = presented.matches(digest)
            isAny = isAny || matches
        }
        return isAny
    }
}
