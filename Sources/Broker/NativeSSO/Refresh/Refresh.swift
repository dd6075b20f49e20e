/// A refresh request whose form is sound and whose client is known; it prints as `****`. RFC 6749 §6.
public final class RefreshRequest: Sendable, CustomStringConvertible, CustomReflectable {
    public let requestID: UniqueID
    public let client: Client
    /// As presented. A credential.
    let refreshToken: String
    /// `nil` where the request named no scope.
    public let scope: Scope?
    /// `nil` where the app showed no key, or the client's policy heeds none.
    public let proof: PresentedProof?
    /// `nil` where the client authenticated otherwise, or not at all.
    public let assertion: PresentedAssertion?

    public init(
        requestID: UniqueID, client: Client, refreshToken: String, scope: Scope?, proof: PresentedProof? = nil,
        assertion: PresentedAssertion? = nil
    ) {
        self.requestID = requestID
        self.client = client
        self.refreshToken = refreshToken
        self.scope = scope
        self.proof = proof
        self.assertion = assertion
    }

    public var description: String { "RefreshRequest(****)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The refresh of a grant: the chain goes on by one generation, or the lost answer is given once more.
public struct Refresh: Sendable {
    private let registry: any GrantRegistry
    private let limits: any UseLimits
    private let mint: TokenMint
    private let lifetimes: Lifetimes

    public init(registry: any GrantRegistry, limits: any UseLimits, mint: TokenMint, lifetimes: Lifetimes) {
        self.registry = registry
        self.limits = limits
        self.mint = mint
        self.lifetimes = lifetimes
    }

    /// - Parameter subject: What the request is about, as far as that becomes known: also where it is refused.
    public func run(
        _ request: RefreshRequest, about subject: inout AuditSubject
    ) async throws(RefreshError) -> TokenAnswer {
        let presented = try RefreshError.port { () throws(PortError) in try mint.read(request.refreshToken) }
        guard let token = presented else { throw .refused(.tokenNotOurs) }
        subject.grant = token.grantID  // the tag vouches for it
        try RefreshError.counting { () throws(RateLimited) in
            try limits.charge(refreshOf: token.grantID, by: request.client)
        }
        let asked = Rotation(request, token, lifetimes)
        let facts: RotationFacts
        do throws(PortError) {
            facts = try await registry.rotate(asked)  // one statement, one commit; facts either way
        } catch {
            throw RefreshError(error)
        }
        subject.session = facts.grant?.session.id
        let (_, chain) = try decide(asked, facts)  // pure; a property test holds it to the statement's guards
        do throws(PortError) {
            // Advanced or sent again, the successor is the same: that is what makes a retry harmless.
            return try await mint.answer(asked, chain, key: request.proof?.key, at: facts.now)
        } catch {
            throw RefreshError(error)
        }
    }
}
