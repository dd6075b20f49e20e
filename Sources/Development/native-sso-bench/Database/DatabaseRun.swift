import BrokerHarness
import PostgresClient
import PrivateCluster
import Registry
import StrictCoding

/// The hot statements, sent by us and by pgbench in turn.
struct DatabaseRun {
    let installation: MeasuredInstallation
    let options: LoadOptions
    let callerCounts: [Int]

    func section() async throws -> Section {
        let reference = "pgbench --protocol=prepared --jobs=1, a connection for each caller"
        var section = Section("database", facts: [("reference", .string(reference))])
        var next = 0
        for callers in callerCounts {
            for statement in HotStatement.allCases {
                let rounds = options.rounds
                let size = callers * PopulationBlock.rowsPerCaller
                let all = next..<next + rounds * Contender.allCases.count * size
                say("database: \(statement.rawValue), \(callers) callers, \(all.count) rows")
                try await Population.insert(
                    all, idle: "0 seconds", database: installation.database, on: installation.cluster)
                try await installation.cluster.sql(
                    "VACUUM ANALYZE; CHECKPOINT;", database: installation.database)
                section.figures += try await figures(
                    statement,
                    blocks: stride(from: next, to: all.upperBound, by: size).map {
                        PopulationBlock(first: $0, callers: callers)
                    })
                next = all.upperBound
            }
        }
        return section
    }

    private func figures(
        _ statement: HotStatement, blocks: [PopulationBlock]
    ) async throws -> [Figure] {
        var figures = Contender.allCases.map { contender in
            Figure([
                "statement": .string(statement.rawValue), "by": .string(contender.rawValue),
                "callers": .integer(blocks[0].callers),
            ])
        }
        for round in 0..<options.rounds {
            var reference = 0.0
            for (index, contender) in Contender.allCases.enumerated() {
                let block = blocks[round * Contender.allCases.count + index]
                var values = try await measure(contender, statement, block, &figures[index])
                if contender == .pgbench { reference = values[.perSecond] ?? 0 }
                values[.throughputRatio] = (values[.perSecond] ?? 0) / reference
                figures[index].add(values)
            }
        }
        return figures
    }

    private func measure(
        _ contender: Contender, _ statement: HotStatement, _ block: PopulationBlock, _ figure: inout Figure
    ) async throws -> [Metric: Double] {
        let cluster = installation.cluster
        let committed = try await cluster.commits(in: installation.database)
        let written = try await cluster.walPosition()
        let window: Window
        switch contender {
        case .lanes:
            let lanes = BatchingLanes(try configuration())
            try await lanes.waitUntilConnected(within: .seconds(10))
            window = try await Callers(executor: lanes, statement: statement, block: block)
                .measure(seconds: options.seconds, server: cluster.processes)
            try await Program.wait(for: "the end of the sessions of \(contender)") { await lanes.shutdown() }
        case .pgbench:
            window = try PgBench(
                programs: try await cluster.programs(), installation: installation
            ).measure(statement, block, seconds: options.seconds)
        }
        let commits = try await cluster.commits(in: installation.database) - committed
        let octets = try await cluster.walPosition() - written
        let all = try await operations(in: block)
        guard Double(all) >= window.operations * 0.99 else {
            throw ManagedProcess.Failure(
                description: "\(contender): \(window.operations) calls, \(all) of them advanced a grant")
        }
        figure.count("operations", all)
        return [
            .perSecond: window.operations / window.seconds,
            .clientCPU: Double(window.client) / 1000 / max(1, window.operations),
            .postgresqlCPU: Double(window.server) / 1000 / max(1, window.operations),
            .commits: Double(commits) / Double(max(1, all)), .walOctets: Double(octets) / Double(max(1, all)),
            .elsewhere: window.elsewhere,
        ]
    }

    private func configuration() throws -> PostgresConfiguration {
        let cluster = installation.cluster
        var configuration = try PostgresConfiguration(
            uri: cluster.server.connectionURI(
                database: installation.database, user: installation.base.serviceRole),
            password: PostgresPassword(cluster.server.password)
        ).forHotCalls()
        configuration.queueWait = .seconds(5)
        configuration.callDeadline = .seconds(10)
        return configuration
    }

    /// Every operation advances one grant by one generation, from 1 on: so the rows say how much was done.
    private func operations(in block: PopulationBlock) async throws -> Int {
        let (first, last) = (
            Population.grantID(sql: String(block.range.lowerBound)),
            Population.grantID(sql: String(block.range.upperBound - 1))
        )
        let sum = try await installation.cluster.sql(
            "SELECT sum(generation - 1) FROM native_sso.sso_grant WHERE grant_id BETWEEN \(first) AND \(last);",
            database: installation.database)
        return Int(sum) ?? 0
    }
}
