import Foundation
import StrictCoding

/// The broker's command line: the one place that knows how its commands are spelt.
struct BrokerCommands: Sendable {
    let program: String
    let layout: Layout

    /// Lays out the database and makes the keys.
    func prepare() async throws {
        _ = try await run(["migrate", "up"])
        _ = try await run(["key", "generate", "--use", "all"])
    }

    /// Registers scopes, apps and the group that shares logins.
    func register(identityProvider issuer: String) async throws {
        for scope in SampleApp.defaultScope.split(separator: " ") {
            _ = try await run(["scope", "add", String(scope)])
        }
        _ = try await run(["scope", "add", SampleApp.consentScope, "--requires-consent"])
        for app in SampleApp.all {
            _ = try await run([
                "client", "add", app.clientID, "--audience", SampleApp.audience, "--allowed-scope",
                "\(SampleApp.defaultScope) \(SampleApp.consentScope)", "--default-scope", SampleApp.defaultScope,
                "--self-exchange",
            ])
        }
        _ = try await run(["group", "add", SampleApp.group, "--issuer", issuer])
        for app in SampleApp.all where app.sharesLogins {
            _ = try await run([
                "group", "member", "add", SampleApp.group, app.clientID, "--role", "both",
            ])
        }
    }

    /// What `serve` is started with.
    var serve: [String] { [program, "--config", layout.brokerConfiguration, "serve"] }

    private func shown(_ arguments: [String]) -> String { (["native-sso"] + arguments).joined(separator: " ") }

    private func run(_ arguments: [String]) async throws -> String {
        try await SupervisedProcess.run(
            shown(arguments), [program, "--config", layout.administrationConfiguration] + arguments,
            environment: ProgramFiles.environment, log: layout.log("administration"))
    }
}
