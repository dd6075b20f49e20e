import BrokerTesting
import NativeSSO

extension RefreshScenario {
    /// A random grant in a random state, and a random token for it.
    init(using randomness: inout SeededRandom) throws {
        try self.init()
        exchange = try ExchangeScenario(using: &randomness)
        if exchange.session == nil || randomness.oneIn(3) { exchange = try ExchangeScenario() }
        // The exchange that began the family met its device.
        exchange.deviceIsBlocked = exchange.deviceIsBlocked ?? false
        client = exchange.client
        guard let session = exchange.session, var row = grant else { return }
        row.session = session.id
        row.client = exchange.target
        row.sourceClient = exchange.source
        row.device = session.device
        row.scope = randomness.mostly(ExchangeScenario.scope, or: [Scope(["openid"]), Scope(["email"])])
        row.generation = randomness.mostly(5, or: [1, 2])
        row.exchangedGeneration = max(
            1, randomness.mostly(1, or: [row.generation - 2, row.generation - 1, row.generation]))
        if row.exchangedGeneration > 3, randomness.oneIn(2) { row.spent = [1...row.exchangedGeneration - 3] }
        row.keylessBefore = randomness.mostly(1, or: [row.exchangedGeneration])
        generation = row.generation + randomness.mostly(0, or: [-1, -1, -1, -2, -3, -4, 1])
        // The time since the rotation matters for the previous token only.
        row.rotated = randomness.mostly(
            generation == row.generation - 1 ? 0 : .hours(1), or: [-1, 0, 9, 10, 11, .hours(1)])
        row.expiresIn = randomness.mostly(row.expiresIn, or: [row.expiresIn, row.expiresIn, -1, 0, 1])
        row.isRevoked = randomness.oneIn(12)
        row.cameLate = row.isRevoked && randomness.oneIn(2)
        let key = KeyThumbprint.random()
        row.key = randomness.mostly(nil, or: [key])
        if client.proofPolicy != .off {
            proof = randomness.mostly(.random(by: key), or: [.random(), nil])
            if let proof, randomness.oneIn(10) { exchange.usedProof = proof.id }
        }
        if randomness.oneIn(20) {
            assertion = .random()
            if randomness.oneIn(3) { exchange.usedAssertion = assertion?.id }
        }
        grant = randomness.oneIn(20) ? nil : row

        scope = randomness.mostly(nil, or: [Scope(["openid"]), ExchangeScenario.scope, Scope(["admin"]), .empty])
        resource = randomness.mostly(nil, or: ["https://api.example.com", "https://other.example.com"])
        if randomness.oneIn(12) {
            client = Client(
                id: ClientID(validated: "thief-\(exchange.group)"), allowedScope: client.allowedScope,
                defaultScope: client.defaultScope, audiences: client.audiences, proofPolicy: client.proofPolicy)
        }
        if randomness.oneIn(6) { grant?.login = Login() }
        // Often the gaps alone decide.
        let isLate = randomness.oneIn(4)
        if isLate {
            self = try RefreshScenario()
            lose(Seconds([20, 100, 400, 90_000].randomElement(using: &randomness) ?? 20))
        }
        if isLate || randomness.oneIn(2) {
            let began: [Int64] = [5, 8, 15, 40, 200, 4_000, 90_000].filter { _ in randomness.oneIn(3) }
            service = ServiceHistory(
                began.map { ($0, max(1, $0 - randomness.mostly(7, or: [30, 150, 80_000]))) },
                lastCount: randomness.mostly(nil, or: [0, 30]))
        }
    }
}
