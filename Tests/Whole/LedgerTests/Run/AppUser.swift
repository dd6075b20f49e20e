import BrokerHarness
import BrokerTesting

/// One user with several logins, each used by one or two apps. The apps refresh, retry, lose answers, ask all brokers
/// at once and exchange again. Now and then a thief replays a spent token.
struct AppUser {
    let run: LedgerRun
    var random: SeededRandom
    private var live: [HeldFamily] = []
    /// No token of these may ever succeed again.
    private var dead: [HeldFamily] = []

    private static let familiesAtOnce = 8

    init(_ run: LedgerRun, random: SeededRandom) {
        self.run = run
        self.random = random
    }

    mutating func live() async throws {
        while !run.isOver { try await step() }
    }

    private mutating func step() async throws {
        if live.count < Self.familiesAtOnce, live.isEmpty || random.chance(60) { return logIn() }
        if !dead.isEmpty, random.chance(30) {
            return try await probe(dead[Int.random(in: dead.indices, using: &random)])
        }
        let now = run.ledger.now
        let awake = live.indices.filter { live[$0].restsUntil <= now }
        guard let index = awake.randomElement(using: &random) else {
            if live.count < Self.familiesAtOnce { return logIn() }
            return try await Task.sleep(for: .milliseconds(10))
        }
        var family = live.remove(at: index)
        if try await use(&family) { live.append(family) } else { bury(family) }
    }

    private mutating func logIn() {
        let login = run.apps.logins().login()
        let apps = random.chance(500) ? AppFixture.targets : [AppFixture.targets[0]]
        live += apps.map { HeldFamily(login: login, app: $0) }
    }

    /// After a replay, some users log in again.
    private mutating func bury(_ family: HeldFamily) {
        dead.append(family)
        if case .replay = family.pending, random.chance(500) {
            live.append(HeldFamily(login: run.apps.logins().login(), app: family.app))
        }
    }

    // MARK: One token family

    /// False when the token family is dead.
    private mutating func use(_ family: inout HeldFamily) async throws -> Bool {
        let broker = Int.random(in: run.wire.brokers.indices, using: &random)
        if let pending = family.pending { return try await send(pending, &family, to: broker) }
        guard let token = family.token else { return false }
        if random.chance(30), let spent = family.spentToken {
            family.pending = .replay(spent)
        } else if random.chance(40) {
            family.pending = .exchange
            if random.chance(300) { return try await race(&family) }
        } else {
            family.pending = .refresh(token)
            if random.chance(80) { return try await race(&family) }
        }
        guard let act = family.pending else { return false }
        return try await send(act, &family, to: broker)
    }

    private mutating func send(
        _ act: LedgerEntry.Act, _ family: inout HeldFamily, to broker: Int, _ given: Wire.Fate? = nil
    ) async throws -> Bool {
        let fate: Wire.Fate = random.chance(80) ? .losesAnswer : random.chance(50) ? .losesApp : .arrives
        return try await digest(await deliver(act, family, to: broker, given ?? fate), &family)
    }

    /// The same request at every broker at once.
    private mutating func race(_ family: inout HeldFamily) async throws -> Bool {
        guard let act = family.pending else { return false }
        let copy = family
        let answers = try await atOnce(run.wire.brokers.count) { [self] in
            try await deliver(act, copy, to: $0, .arrives)
        }
        // Successes come last: they settle the requests that had no answer.
        var isAlive = true
        for answer in answers.sorted(by: { !$0.isSuccess && $1.isSuccess }) {
            isAlive = try await digest(answer, &family) && isAlive
        }
        return isAlive
    }

    private func deliver(
        _ act: LedgerEntry.Act, _ family: HeldFamily, to broker: Int, _ fate: Wire.Fate
    ) async throws -> Wire.Knowledge {
        let form = try family.form(for: act, run.apps.logins(for: family.app))
        return await run.wire.send(act, form, session: family.login.sid, app: family.app, to: broker, fate)
    }

    /// False when the token family is dead.
    private mutating func digest(_ answer: Wire.Knowledge, _ family: inout HeldFamily) async throws -> Bool {
        switch answer {
        case .outcome(.granted(let token)):
            family.receive(token)
            run.sawLive(family.login.sid)
        case .outcome(.refused), .outcome(.ended), .outcome(.unexpected): return false
        case .nothing(isSettled: true): break
        case .outcome(.unavailable), .outcome(.unknown), .nothing(isSettled: false):
            family.unsettledAt = run.ledger.now
            // At most a tenth of `Retry-After`: the app is ready as soon as the brokers are back.
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...100, using: &random)))
        }
        return true
    }

    /// No token of a dead family may succeed.
    private mutating func probe(_ family: HeldFamily) async throws {
        guard let token = family.token else { return }
        let broker = Int.random(in: run.wire.brokers.indices, using: &random)
        _ = try await deliver(.refresh(token), family, to: broker, .arrives)
    }

    // MARK: The end

    /// Finishes everything in flight, and then asks every broker for each family once more: live families go on, and no
    /// others.
    mutating func settle() async throws {
        var families = live
        for index in families.indices { try await finish(&families[index]) }
        let rest = (families.map(\.restsUntil).max() ?? .zero) - run.ledger.now
        if rest > .zero { try await Task.sleep(for: rest) }
        for broker in run.wire.brokers.indices {
            for index in families.indices where families[index].isLive {
                families[index].pending = families[index].token.map { .refresh($0) }
                try await finish(&families[index], at: broker)
            }
            for family in dead + families.filter({ !$0.isLive }) {
                guard let token = family.token else { continue }
                _ = try await deliver(.refresh(token), family, to: broker, .arrives)
            }
        }
    }

    /// Repeats the request until it has an answer, for at most 30 s.
    private mutating func finish(_ family: inout HeldFamily, at broker: Int = 0) async throws {
        let deadline = run.ledger.now + .seconds(30)
        while let pending = family.pending, family.isLive {
            family.isLive = try await send(pending, &family, to: broker, .arrives)
            guard run.ledger.now < deadline else { throw LedgerRun.NoAnswer(session: family.login.sid) }
        }
    }
}

extension Wire.Knowledge {
    fileprivate var isSuccess: Bool {
        if case .outcome(.granted) = self { true } else { false }
    }
}
