import BrokerHarness
import BrokerTesting

/// One person with some logins, each used by one or two apps: they refresh, retry, lose answers, ask two brokers at
/// once, exchange again; and now and then somebody replays a token that is spent.
struct AppUser {
    let run: LedgerRun
    var random: SeededRandom
    private var live: [HeldChain] = []
    /// Of these nothing may ever succeed again.
    private var dead: [HeldChain] = []

    private static let chainsAtOnce = 8

    init(_ run: LedgerRun, random: SeededRandom) {
        self.run = run
        self.random = random
    }

    /// Until the run is over.
    mutating func live() async throws {
        while !run.isOver { try await step() }
    }

    private mutating func step() async throws {
        if live.count < Self.chainsAtOnce, live.isEmpty || random.chance(60) { return logIn() }
        if !dead.isEmpty, random.chance(30) {
            return try await probe(dead[Int.random(in: dead.indices, using: &random)])
        }
        let now = run.ledger.now
        let awake = live.indices.filter { live[$0].restsUntil <= now }
        guard let index = awake.randomElement(using: &random) else {
            if live.count < Self.chainsAtOnce { return logIn() }
            return try await Task.sleep(for: .milliseconds(10))
        }
        var chain = live.remove(at: index)
        if try await use(&chain) { live.append(chain) } else { bury(chain) }
    }

    private mutating func logIn() {
        let login = run.stage.logins().login()
        let apps = random.chance(500) ? ReplicatedStage.targets : [ReplicatedStage.targets[0]]
        live += apps.map { HeldChain(login: login, app: $0) }
    }

    /// What it is dead of may be a replay: then its user logs in again.
    private mutating func bury(_ chain: HeldChain) {
        dead.append(chain)
        if case .replay = chain.pending, random.chance(500) {
            live.append(HeldChain(login: run.stage.logins().login(), app: chain.app))
        }
    }

    // MARK: One chain

    /// False when it is dead.
    private mutating func use(_ chain: inout HeldChain) async throws -> Bool {
        let broker = Int.random(in: run.wire.brokers.indices, using: &random)
        if let pending = chain.pending { return try await send(pending, &chain, to: broker) }
        guard let token = chain.token else { return false }
        if random.chance(30), let spent = chain.spentToken {
            chain.pending = .replay(spent)
        } else if random.chance(40) {
            chain.pending = .exchange
            if random.chance(300) { return try await race(&chain) }
        } else {
            chain.pending = .refresh(token)
            if random.chance(80) { return try await race(&chain) }
        }
        guard let act = chain.pending else { return false }
        return try await send(act, &chain, to: broker)
    }

    private mutating func send(
        _ act: LedgerEntry.Act, _ chain: inout HeldChain, to broker: Int, _ given: Wire.Fate? = nil
    ) async throws -> Bool {
        let fate: Wire.Fate = random.chance(80) ? .losesAnswer : random.chance(50) ? .losesApp : .arrives
        return try await digest(await deliver(act, chain, to: broker, given ?? fate), &chain)
    }

    /// The same request at every broker at once.
    private mutating func race(_ chain: inout HeldChain) async throws -> Bool {
        guard let act = chain.pending else { return false }
        let copy = chain
        let answers = try await withThrowingTaskGroup(of: Wire.Knowledge.self) { group in
            for broker in run.wire.brokers.indices {
                group.addTask { [self] in try await deliver(act, copy, to: broker, .arrives) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // A success last: it ends what the other one left open.
        var isAlive = true
        for answer in answers.sorted(by: { !$0.isSuccess && $1.isSuccess }) {
            isAlive = try await digest(answer, &chain) && isAlive
        }
        return isAlive
    }

    private func deliver(
        _ act: LedgerEntry.Act, _ chain: HeldChain, to broker: Int, _ fate: Wire.Fate
    ) async throws -> Wire.Knowledge {
        let form = try chain.form(for: act, run.stage.logins(for: chain.app))
        return await run.wire.send(act, form, session: chain.login.sid, app: chain.app, to: broker, fate)
    }

    /// False when the chain is dead.
    private mutating func digest(_ answer: Wire.Knowledge, _ chain: inout HeldChain) async throws -> Bool {
        switch answer {
        case .outcome(.granted(let token)):
            chain.receive(token)
            run.sawLive(chain.login.sid)
        case .outcome(.refused), .outcome(.ended), .outcome(.unexpected): return false
        case .nothing(isSettled: true): break
        case .outcome(.unavailable), .outcome(.unknown), .nothing(isSettled: false):
            chain.unsettledAt = run.ledger.now
            // A tenth of what Retry-After asks for, to be there when the brokers are back.
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...100, using: &random)))
        }
        return true
    }

    /// Nothing of a dead chain may succeed.
    private mutating func probe(_ chain: HeldChain) async throws {
        guard let token = chain.token else { return }
        let broker = Int.random(in: run.wire.brokers.indices, using: &random)
        _ = try await deliver(.refresh(token), chain, to: broker, .arrives)
    }

    // MARK: The end

    /// Brings everything that is under way to its end, and then asks every broker for each chain once more: what is live
    /// goes on, and nothing else.
    mutating func settle() async throws {
        var chains = live
        for index in chains.indices { try await finish(&chains[index]) }
        let rest = (chains.map(\.restsUntil).max() ?? .zero) - run.ledger.now
        if rest > .zero { try await Task.sleep(for: rest) }
        for broker in run.wire.brokers.indices {
            for index in chains.indices where chains[index].isLive {
                chains[index].pending = chains[index].token.map { .refresh($0) }
                try await finish(&chains[index], at: broker)
            }
            for chain in dead + chains.filter({ !$0.isLive }) {
                guard let token = chain.token else { continue }
                _ = try await deliver(.refresh(token), chain, to: broker, .arrives)
            }
        }
    }

    /// Until there is an answer.
    private mutating func finish(_ chain: inout HeldChain, at broker: Int = 0) async throws {
        let deadline = run.ledger.now + .seconds(30)
        while let pending = chain.pending, chain.isLive {
            chain.isLive = try await send(pending, &chain, to: broker, .arrives)
            guard run.ledger.now < deadline else { throw LedgerRun.NoAnswer(session: chain.login.sid) }
        }
    }
}

extension Wire.Knowledge {
    fileprivate var isSuccess: Bool {
        if case .outcome(.granted) = self { true } else { false }
    }
}
