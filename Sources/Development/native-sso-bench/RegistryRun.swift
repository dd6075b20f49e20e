import BrokerHarness
import StrictCoding

/// How long the commands for a registry file take.
struct RegistryRun {
    let installation: MeasuredInstallation
    let rounds: Int
    let clients: Int

    private static let file = "registry-file.yaml"

    func section() async throws -> Section {
        var figures = ["apply all", "plan, no change", "apply a change of all", "export"].map {
            Figure(["command": .string($0)])
        }
        for round in 0..<rounds {
            say("registry: round \(round + 1)")
            figures[0].add(try await apply(round, lifetime: "5m"))
            figures[1].add(try await timed("registry", "plan", installation.base.file(Self.file)))
            figures[2].add(try await apply(round, lifetime: "6m"))
            figures[3].add(
                try await timed("registry", "export", installation.base.file("export-\(round).yaml"), "--name", "bench")
            )
        }
        return Section("registry_file", facts: [("clients", .integer(clients))], figures: figures)
    }

    /// Each round has clients of its own.
    private func apply(_ round: Int, lifetime: String) async throws -> [Metric: Double] {
        let entries = (0..<clients).map { index in
            """
              - client_id: bench-\(round)-\(index)
                audiences: [https://api.example.com]
                allowed_scope: [openid, orders]
                default_scope: [openid]
                access_token_lifetime: \(lifetime)
                dpop: required

            """
        }.joined()
        try installation.base.write("name: bench\nclients:\n\(entries)", to: Self.file)
        let file = installation.base.file(Self.file)
        let serial = try await installation.base.session().row("SELECT serial FROM native_sso.registry_serial")
        return try await timed(
            "registry", "apply", file, "--serial", serial, "--execute", "--reason", "benchmark")
    }

    private func timed(_ arguments: String...) async throws -> [Metric: Double] {
        let start = ProcessClock.monotonic
        try await installation.base.command(arguments)
        return [.commandTook: Double(ProcessClock.monotonic - start) / 1e6]
    }
}
