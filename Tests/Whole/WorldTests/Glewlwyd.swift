import Foundation
import OAuthWire
import PrivateCluster
import StrictCoding
import BrokerHarness

/// Glewlwyd, a foreign OpenID provider: a process of its own on loopback, with its own database.
final class Glewlwyd: Sendable {
    let port: UInt16
    private let process: ManagedProcess
    private let directory: URL

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// A running one with an administrator and nothing else.
    init() async throws {
        port = try LoopbackPort.free()
        directory = URL(filePath: try WorkingDirectory(named: "glewlwyd").path)
        let log = directory.appending(path: "log")
        let software = Software.glewlwyd
        let (program, modules) = (try software.path(), try software.path("usr/lib/glewlwyd"))
        let schema = try software.path("usr/share/dbconfig-common/data/glewlwyd/install/sqlite3")
        let database = directory.appending(path: "glewlwyd.db").path
        let environment = [
            "LD_LIBRARY_PATH": try software.libraries(), "PATH": "/usr/bin:/bin:\(try software.path("usr/bin"))",
        ]
        let made = try await ManagedProcess.run(
            "/usr/bin/env", ["sqlite3", "-bail", database, ".read \(schema)"], environment: environment, log: log)
        guard made.status == 0 else { throw Failure(description: "sqlite3: \(made.status)") }

        let configuration = directory.appending(path: "glewlwyd.conf")
        let text = """
            port = \(port)
            bind_address = "127.0.0.1"
            external_url = "http://127.0.0.1:\(port)"
            login_url = "login.html"
            api_prefix = "api"
            log_mode = "console"
            log_level = "INFO"
            cookie_domain = "127.0.0.1"
            cookie_secure = 0
            admin_scope = "g_admin"
            profile_scope = "g_profile"
            user_module_path = "\(modules)/user"
            user_middleware_module_path = "\(modules)/user_middleware"
            client_module_path = "\(modules)/client"
            user_auth_scheme_module_path = "\(modules)/scheme"
            plugin_module_path = "\(modules)/plugin"
            hash_algorithm = "SHA512"
            database = { type = "sqlite3"; path = "\(database)"; };

            """
        try Data(text.utf8).write(to: configuration)
        process = try ManagedProcess(
            program, ["--config-file", configuration.path], environment: environment, log: log)
        _ = try await eventually("Glewlwyd answers") { [self] in
            guard process.isRunning else { throw Failure(description: "Glewlwyd has ended") }
            return (try? await HTTPRequest("GET", "/config").send(to: port))?.status == 200 ? true : nil
        }
    }

    deinit { process.signal(SIGKILL) }

    var issuer: String { "http://127.0.0.1:\(port)/api/oidc" }

    /// Makes it an OpenID provider with a key for RS256, which asks for PKCE and tells of logouts.
    func configure(users: [(name: String, password: String)]) async throws {
        let pem = try await ManagedProcess.run(
            "/usr/bin/env",
            [
                "sh", "-c", #"openssl genrsa 2048 >"$0"/key && cat "$0"/key && openssl rsa -pubout <"$0"/key"#,
                directory.path,
            ],
            log: directory.appending(path: "openssl.log"))
        guard pem.status == 0, let end = pem.output.range(of: "-----BEGIN PUBLIC KEY-----") else {
            throw Failure(description: "openssl: \(pem.status)")
        }
        // In JSON a line end of PEM is an escape.
        let (key, certificate) = (pem.output[..<end.lowerBound], pem.output[end.lowerBound...])
        let administrator = Visitor(of: self)
        // Those of the schema that its package brings.
        try await administrator.logIn("admin", password: "password")
        try await administrator.send(
            "POST", "/api/mod/plugin/",
            json: """
                {"module": "oidc", "name": "oidc", "display_name": "OpenID Connect", "parameters": {
                  "iss": "\(issuer)", "subject-type": "public",
                  "jwt-type": "rsa", "jwt-key-size": "256", "jwks-show": true,
                  "key": "\(key.replacing("\n", with: "\\n"))", "cert": "\(certificate.replacing("\n", with: "\\n"))",
                  "access-token-duration": 3600, "refresh-token-duration": 1209600, "code-duration": 600,
                  "refresh-token-rolling": true, "refresh-token-one-use": "always", "allow-non-oidc": false,
                  "auth-type-code-enabled": true, "auth-type-code-revoke-replayed": true, "auth-type-refresh-enabled": true,
                  "auth-type-token-enabled": false, "auth-type-implicit-enabled": false,
                  "auth-type-password-enabled": false, "auth-type-client-enabled": false, "auth-type-none-enabled": false,
                  "pkce-allowed": true, "pkce-required": true, "pkce-method-plain-allowed": false,
                  "session-management-allowed": true, "session-cookie-name": "GLEWLWYD2_OIDC_SESSION",
                  "session-cookie-expiration": 2419200,
                  "front-channel-logout-allowed": false, "back-channel-logout-allowed": true}}
                """)
        for user in users {
            try await administrator.send(
                "POST", "/api/user/",
                json: """
                    {"username": "\(user.name)", "password": "\(user.password)", "enabled": true,
                     "scope": ["g_profile", "openid"]}
                    """)
        }
    }

    /// Registers an app on a device: a public client.
    /// - Parameter namesSession: Whether logout tokens for it hold `sid`, beside `sub`.
    func register(_ client: String, redirectURI: String, logoutURI: String, namesSession: Bool) async throws {
        let administrator = Visitor(of: self)
        try await administrator.logIn("admin", password: "password")
        // A text, not a truth value: what is stored of a client is one.
        let session = namesSession ? #", "backchannel_logout_session_required": "true""# : ""
        try await administrator.send(
            "POST", "/api/client/",
            json: """
                {"client_id": "\(client)", "name": "\(client)", "confidential": false, "enabled": true, "scope": [],
                 "authorization_type": ["code", "refresh_token"], "token_endpoint_auth_method": ["none"],
                 "redirect_uri": ["\(redirectURI)"], "backchannel_logout_uri": "\(logoutURI)"\(session)}
                """)
    }
}
