import PostgresClient

/// Plays worlds, one after the other, on connections of its own. It gives each step when all others have ended or wait
/// for a lock.
struct RaceWorker {
    private enum State {
        case ready, running, waiting, done
    }

    /// As many as a world has actors at most.
    static let width = 5
    /// How often it looks who waits.
    private static let pause = Duration.milliseconds(2)

    private let connections: [RaceConnection]
    private let observer: ConnectionPool
    private let events: AsyncStream<RaceEvent>
    private let report: AsyncStream<RaceEvent>.Continuation

    init(_ configuration: PostgresConfiguration, observer: ConnectionPool) async throws {
        var connections: [RaceConnection] = []
        for _ in 0..<Self.width { connections.append(try await RaceConnection(configuration)) }
        self.connections = connections
        self.observer = observer
        (events, report) = AsyncStream.makeStream()
    }

    /// Plays worlds until there is no next one. They are told to `finished`, with their history.
    func work(_ next: () -> RaceWorld?, finished: (RaceWorld) -> Void) async throws {
        let report = report
        let clock = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: Self.pause)
                report.yield(.tick)
            }
        }
        defer { clock.cancel() }
        var iterator = events.makeAsyncIterator()
        while var world = next() {
            try await world.prepare(on: observer)
            try await play(&world, &iterator)
            try await world.checkRows(on: observer)
            finished(world)
        }
        for connection in connections { await connection.shutdown() }
    }

    private func play(_ world: inout RaceWorld, _ iterator: inout AsyncStream<RaceEvent>.Iterator) async throws {
        var states = world.actors.map { _ in State.ready }
        while true {
            let ready = states.indices.filter { states[$0] == .ready }
            let stepped = ready.shuffled(using: &world.random).contains { step($0, &world, &states) }
            // No actor can step. Waiting actors continue, or PostgreSQL ends their wait.
            if !stepped, !resume(&states) { return }
            try await settle(&world, &states, &iterator)
        }
    }

    /// Gives an actor its next step. False: it has none now.
    private func step(_ index: Int, _ world: inout RaceWorld, _ states: inout [State]) -> Bool {
        let connection = connections[index]
        switch world.step(index) {
        case .nothing: states[index] = .done
        case .notYet where !world.actors[index].hasBegun: return false
        case .query(let statement, let parameters):
            if !world.actors[index].hasBegun {
                world.actors[index].hasBegun = true
                connection.begin(index) { [report] in report.yield($0) }
            }
            connection.send(.query(statement, parameters))
            states[index] = .running
        case .commit, .notYet:
            connection.send(.commit)
            states[index] = .running
        }
        return states[index] == .running
    }

    /// Marks waiting actors as running. False if no actor waits.
    private func resume(_ states: inout [State]) -> Bool {
        let waiting = states.indices.filter { states[$0] == .waiting }
        for index in waiting { states[index] = .running }
        return !waiting.isEmpty
    }

    /// Waits until no actor runs.
    private func settle(
        _ world: inout RaceWorld, _ states: inout [State], _ iterator: inout AsyncStream<RaceEvent>.Iterator
    ) async throws {
        var ticks = 0
        while states.contains(.running), let event = await iterator.next() {
            switch event {
            case .tick:
                ticks += 1
                // The first tick may precede the step. The interval doubles, to spare a busy server.
                guard ticks > 1, ticks.nonzeroBitCount == 1 else { continue }
                let running = states.indices.filter { states[$0] == .running }
                let processes = running.map { String(connections[$0].process) }
                let rows = try await observer.query(RaceStatements.waiting, .textArray(processes))
                let waiting = Set(try rows.map { try $0.int32(0) })
                for index in running where waiting.contains(connections[index].process) {
                    states[index] = .waiting
                    world.noteWait(of: index)
                }
                continue
            case .answered(let index, let rows):
                try world.take(rows, for: index)
                states[index] = .ready
            case .committed(let index):
                world.acknowledge(index)
                states[index] = .ready
                _ = resume(&states)
            case .failed(let index, let error):
                world.fail(index, error)
                states[index] = .done
                _ = resume(&states)
            }
            ticks = 0
        }
    }
}
