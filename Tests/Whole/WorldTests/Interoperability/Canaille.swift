import BrokerHarness
import Foundation
import PrivateCluster
import StrictCoding

/// Canaille under hypercorn, with an SQLite database.
final class Canaille: ForeignProvider {
    static let paths = (
        authorization: "/oauth/authorize", token: "/oauth/token", logout: "/oauth/end_session"
    )
    static let user = (name: "alice", password: "correct horse battery staple")

    let port: UInt16
    private let process: ManagedProcess

    var issuer: String { "http://127.0.0.1:\(port)" }

    init() async throws {
        port = try LoopbackPort.free()
        let directory = URL(filePath: try WorkingDirectory(named: "canaille").path)
        let program = try Software.interoperability.path("bin/canaille")
        let environment = ["CANAILLE_CONFIG": directory.appending(path: "canaille.toml").path, "HOME": directory.path]
        func run(_ arguments: String) async throws -> String {
            try await ManagedProcess.output(
                of: "/usr/bin/env",
                ["--chdir", directory.path, "sh", "-c", #""$0" "# + arguments, program], name: "canaille \(arguments)",
                environment: environment)
        }
        let settings = """
            SECRET_KEY = "\(Unguessable.make())"
            SERVER_NAME = "127.0.0.1:\(port)"
            PREFERRED_URL_SCHEME = "http"
            [CANAILLE]
            DATABASE = "sql"
            [CANAILLE_SQL]
            DATABASE_URI = "sqlite:///\(directory.path)/canaille.db"

            """
        let file = directory.appending(path: "canaille.toml")
        try Data(settings.utf8).write(to: file)
        guard let key = try JSONReader.parse(Array(try await run("jwk create rsa").utf8)).object else {
            throw ForeignProviderFailure(description: "canaille made no key")
        }
        let members = (key.names.map { ($0, key.string($0) ?? "") } + [("alg", "RS256")])
            .map { "\($0.0) = \"\($0.1)\"" }.joined(separator: ", ")
        try Data((settings + "[CANAILLE_OIDC]\nACTIVE_JWKS = [{ \(members) }]\n").utf8).write(to: file)
        try Data(Self.models.utf8).write(to: directory.appending(path: "models.json"))
        _ = try await run("install")
        _ = try await run("restore <models.json")
        process = try ManagedProcess(
            "/usr/bin/env", ["--chdir", directory.path, program, "run", "--bind", "127.0.0.1:\(port)"],
            name: "Canaille", environment: environment, log: directory.appending(path: "log"))
        try await untilReady(process)
    }

    deinit { process.kill() }

    func logIn(_ browser: UserAgent, from page: UserAgent.Page) async throws -> UserAgent.Outcome {
        guard case .page(let next) = try await browser.submit(page, ["login": Self.user.name]) else {
            throw ForeignProviderFailure(description: "Canaille asked for no password")
        }
        let outcome = try await browser.submit(next, ["password": Self.user.password])
        // The first time it asks for the user's consent.
        guard case .page(let consent) = outcome else { return outcome }
        return try await browser.submit(consent, [:], pressing: (name: "answer", value: "accept"))
    }

    /// Its logout endpoint asks nothing where `id_token_hint` names the user.
    func logOut(_: UserAgent, from _: UserAgent.Page) {}

    private static var models: String {
        let clients = ["app-one", "app-two"].map { client in
            """
            {"id": "\(client)", "client_id": "\(client)", "client_name": "\(client)", "audience": ["\(client)"],
             "redirect_uris": ["\(redirectURI(of: client))"], "token_endpoint_auth_method": "none",
             "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
             "scope": ["openid", "profile"]}
            """
        }.joined(separator: ",")
        return """
            {"user": [{"id": "alice", "user_name": "\(user.name)", "password": "\(user.password)",
              "family_name": "Example", "emails": ["alice@example.test"]}], "client": [\(clients)]}
            """
    }
}
