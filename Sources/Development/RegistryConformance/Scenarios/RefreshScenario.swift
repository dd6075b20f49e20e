import BrokerTesting
package import NativeSSO
import Testing

/// A target client refreshes: all inputs of the refresh. The initial values make it succeed.
package struct RefreshScenario: StoredScenario {
    /// The rows of clients, group, session and device.
    package var exchange: ExchangeScenario
    /// `nil`: the registry holds no such grant.
    package var grant: GrantRow?

    // What is presented, and by whom.
    package let grantID: UniqueID
    package var generation: Int32
    package var scope: Scope?
    package var resource: String?
    package var client: Client
    package var proof: PresentedProof?
    package var assertion: PresentedAssertion?
    package var service = ServiceHistory()

    package init() throws {
        exchange = try ExchangeScenario()
        exchange.deviceIsBlocked = false
        client = exchange.client
        grantID = .random()
        generation = 5
        let session = try #require(exchange.session)
        grant = GrantRow(
            id: grantID, session: session.id, client: exchange.target, sourceClient: exchange.source,
            device: session.device, expiresIn: .days(20), scope: ExchangeScenario.scope,
            audiences: exchange.client.audiences)
        grant?.generation = 5
        grant?.rotated = .hours(1)
        grant?.login = exchange.login
        grant?.claims = try #require(CopiedClaims(text: #"{"email":"a@b.example","level":9007199254740993}"#))
    }

    /// App 2 comes back with a token that an exchange gave it: the grant is there already.
    package init(after exchange: ExchangeScenario, grantID: UniqueID, generation: Int32) {
        self.exchange = exchange
        self.grantID = grantID
        self.generation = generation
        client = exchange.client
    }

    /// By how long a lost answer may be asked for again.
    package var grace: Seconds { exchange.lifetimes.unboundRefreshGrace }

    package func put(into fixture: any RowStore) async throws {
        try await exchange.put(into: fixture)
        try await fixture.put(client: client.id, isEnabled: exchange.clientIsEnabled)
        if let grant { try await fixture.put(grant) }
        try await fixture.put(service)
    }

    package var rotation: Rotation {
        Rotation(
            RefreshRequest(
                requestID: .random(), client: client, refreshToken: "a refresh token", scope: scope, resource: resource,
                proof: proof, assertion: assertion),
            RefreshToken(grantID: grantID, generation: generation), exchange.lifetimes)
    }

    /// Changes the scenario so that it deserves `refusal`. A token that is not ours is the caller's affair, and so is a
    /// user without a name.
    package mutating func spoil(for refusal: RefreshRefusal) {
        switch refusal {
        case .tokenNotOurs, .subjectAmbiguous: break
        case .assertionReplayed:
            let used = assertion ?? .random()
            assertion = used
            exchange.usedAssertion = used.id
        case .proofReplayed:
            let used = proof ?? .random()
            proof = used
            exchange.usedProof = used.id
        case .proofMissing:
            client.proofPolicy = .optional
            grant?.key = .random()
        case .keyMismatch:
            client.proofPolicy = .optional
            grant?.key = .random()
            proof = .random()
        case .proofsOff:
            client.proofPolicy = .off
            grant?.key = .random()
        case .grantUnknown: grant = nil
        case .grantRevoked: grant?.isRevoked = true
        case .foreignClient:
            client = Client(
                id: ClientID(validated: "thief-\(exchange.group)"), allowedScope: client.allowedScope,
                defaultScope: client.defaultScope, audiences: client.audiences)
        case .stateRegressed: generation = 6
        case .replayed: generation = 3
        case .late: generation = 4
        case .superseded:
            grant?.exchangedGeneration = 4
            generation = 3
        case .grantExpired: grant?.expiresIn = 0
        case .clientDisabled: exchange.clientIsEnabled = false
        case .sharingEnded: exchange.spoil(for: .otherGroup)
        case .sessionEnded: exchange.spoil(for: .sessionEnded)
        case .sessionExpired: exchange.spoil(for: .sessionExpired)
        case .sessionIdle: exchange.spoil(for: .sessionIdle)
        case .deviceBlocked: exchange.spoil(for: .deviceBlocked)
        case .resourceExceedsGrant: resource = "https://api.example.com/"
        case .scopeExceedsGrant: scope = Scope(["openid", "admin"])
        case .scopeEmpty: client.allowedScope = Scope(["email"])
        }
    }

    /// The step of the contract that refuses: of two defects the one of the earlier step is the reason.
    package static func step(of refusal: RefreshRefusal) -> Int {
        switch refusal {
        case .tokenNotOurs: 1
        case .assertionReplayed: 2
        case .proofReplayed: 3
        case .grantUnknown: 4
        case .grantRevoked: 5
        case .proofMissing, .keyMismatch, .proofsOff: 6
        case .foreignClient: 7
        case .stateRegressed, .replayed, .late, .superseded: 8
        case .grantExpired: 9
        case .clientDisabled: 10
        case .sharingEnded: 11
        case .sessionEnded: 12
        case .sessionExpired: 13
        case .sessionIdle: 14
        case .deviceBlocked: 15
        case .resourceExceedsGrant: 16
        case .scopeExceedsGrant: 17
        case .scopeEmpty: 18
        case .subjectAmbiguous: 19
        }
    }
}
