import StrictCoding

/// A refresh request with a valid form and a known client; it prints as `****`. RFC 6749 §6.
package final class RefreshRequest: Sendable, Redacted {
    package let requestID: UniqueID
    package let client: Client
    /// The token as presented. A credential.
    let refreshToken: String
    /// `nil` if the request named no scope.
    package let scope: Scope?
    /// The one audience of the grant that the access token is for; `nil`: all of them. RFC 8707 §2.
    package let resource: String?
    /// `nil` if the app sent no proof, or the client's policy ignores proofs.
    package let proof: PresentedProof?
    /// `nil` if the client authenticated in another way, or not at all.
    package let assertion: PresentedAssertion?

    package init(
        requestID: UniqueID, client: Client, refreshToken: String, scope: Scope?, resource: String? = nil,
        proof: PresentedProof? = nil,
        assertion: PresentedAssertion? = nil
    ) {
        self.requestID = requestID
        self.client = client
        self.refreshToken = refreshToken
        self.scope = scope
        self.resource = resource
        self.proof = proof
        self.assertion = assertion
    }
}

/// The refresh of a grant: issues the next generation, or redelivers a lost answer.
package struct Refresh: Sendable {
    private let registry: any GrantRegistry
    private let limits: any UseLimits
    private let mint: TokenMint
    private let lifetimes: Lifetimes

    package init(registry: any GrantRegistry, limits: any UseLimits, mint: TokenMint, lifetimes: Lifetimes) {
        self.registry = registry
        self.limits = limits
        self.mint = mint
        self.lifetimes = lifetimes
    }

    /// - Parameter subject: Receives session, grant and clients as they become known, also for a refusal.
    package func run(
        _ request: RefreshRequest, about subject: inout AuditSubject
    ) async throws(RefreshError) -> TokenAnswer {
        let presented = try await RefreshError.port { () async throws(PortError) in
            try await mint.read(request.refreshToken)
        }
        guard let token = presented else { throw .refused(.tokenNotOurs) }
        subject.grant = token.grantID  // the tag vouches for it
        try RefreshError.counting { () throws(RateLimited) in
            try limits.charge(refreshOf: token.grantID, by: request.client)
        }
        // A known outage must not cost the app a generation.
        try RefreshError.port { () throws(PortError) in
            try mint.checkSigning(for: request.client, issuesRefreshToken: true)
        }
        let asked = Rotation(request, token, lifetimes)
        let facts: RotationFacts
        do throws(PortError) {
            facts = try await registry.rotate(asked)  // one statement, one commit; facts either way
        } catch {
            throw RefreshError(error)
        }
        subject.session = facts.grant?.session.id
        subject.provider = facts.grant?.provider
        let (decision, family) = try decide(asked, facts)  // pure; a property test holds it to the statement's guards
        subject.isRedelivery = decision == .redelivered
        guard mint.names(family) else { throw .refused(.subjectAmbiguous) }
        // A redelivery returns the same successor as the rotation, so a retry is harmless.
        do throws(PortError) {
            return try await mint.answer(asked, family, key: request.proof?.key, at: facts.now)
        } catch {
            // The app may be without an answer for longer than the grace period. If this fails too, it has that period.
            do throws(PortError) { try await registry.markUnanswered(token.successor) } catch {}
            throw RefreshError(error)
        }
    }
}

/// A refresh token of this broker: a position in a grant's token family, authenticated by a MAC. It is not stored.
///
///     nsr1.base64url( key id (1) ‖ grant id (16) ‖ generation (4, big-endian) ‖ tag (32) )
///
/// `tag` is HMAC-SHA-256 over everything that precedes it, prefix included, under the key that the key id names. The
/// fixed prefix and length distinguish it from other credentials and let a secret scanner find a leaked one.
package struct RefreshToken: Hashable, Sendable {
    package let grantID: UniqueID
    /// 1 for the token of the first exchange, and one more with each rotation.
    package let generation: Int32

    package init(grantID: UniqueID, generation: Int32) {
        self.grantID = grantID
        self.generation = generation
    }

    /// The token that a refresh with this one issues.
    package var successor: RefreshToken {
        RefreshToken(grantID: grantID, generation: generation == .max ? .max : generation + 1)
    }

    static let prefix = Array("nsr1.".utf8)
    private static let bodyLength = 1 + 16 + 4
    private static let tagLength = 32

    /// The length of every token, in characters.
    package static let length = 76

    /// Whether a text looks like a token of this broker, genuine or not.
    static func hasForm(_ text: String) -> Bool { text.utf8.count == length && text.utf8.starts(with: prefix) }
}

extension RefreshToken {
    func encoded(by keys: some RefreshTokenAuthenticator) -> Pending<String, PortError> {
        .begin { () throws(PortError) in
            let keyID = try keys.currentKeyID
            var token = Self.prefix + CollectionOfOne(keyID)
            token += grantID.octets
            for shift in stride(from: 24, through: 0, by: -8) {
                token.append(UInt8(truncatingIfNeeded: generation >> shift))
            }
            return keys.beginTag(token, keyID: keyID).then { [token] result in
                result.flatMap { tag in
                    guard let tag else {
                        return .failure(.broken("the current refresh-token key is not in the key ring"))
                    }
                    var text = Self.prefix
                    Base64URL.append(token[Self.prefix.count...] + tag, to: &text)
                    return .success(String(decoding: text, as: UTF8.self))
                }
            }
        }
    }

    /// Reads a presented token; the tag is checked here, before any database is asked.
    /// - Returns: `nil` unless this broker made `text`, octet for octet.
    static func decode(
        _ text: String, by keys: some RefreshTokenAuthenticator
    ) async throws(PortError) -> RefreshToken? {
        guard hasForm(text), let token = Base64URL.decode(Array(text.utf8).dropFirst(prefix.count)),
            token.count == bodyLength + tagLength
        else { return nil }
        let body = token[..<bodyLength]
        guard let expected = try await keys.tag(prefix + body, keyID: token[0]),
            ConstantTime.equal(expected, token[bodyLength...]),
            let grantID = UniqueID(octets: body[1..<17])
        else { return nil }
        let generation = body[17...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return RefreshToken(grantID: grantID, generation: Int32(bitPattern: generation))
    }
}
