import BrokerHarness
import BrokerTesting
import Foundation
import Glibc
import PrivateCluster

/// Apache with mod_auth_openidc as resource server, with the settings of the guide's page.
final class ApacheAPI: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// Verifies the token itself.
        case keySet = "mod-auth-openidc-keys.conf"
        /// Asks the broker.
        case introspection = "mod-auth-openidc-introspection.conf"
    }

    private let process: ManagedProcess
    private let directory: URL
    private let port: UInt16

    init(
        _ kind: Kind, issuer: String, introspection: String, audience: String, secret: String, ca: URL
    ) async throws {
        port = try LoopbackPort.free()
        directory = URL(filePath: try WorkingDirectory(named: "apache").path)
        let pages = directory.appending(path: "pages")
        try FileManager.default.createDirectory(at: pages, withIntermediateDirectories: false)
        try Data("orders".utf8).write(to: pages.appending(path: "orders"))
        // Apache's children run as another user.
        for folder in [directory, pages] {
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        }
        try FileManager.default.copyItem(at: ca, to: directory.appending(path: "ca.pem"))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: directory.appending(path: "ca.pem").path)

        var settings = try String(
            contentsOf: Checkout.root.appending(path: "deploy/guide/clients/\(kind.rawValue)"), encoding: .utf8)
        for (from, to) in [
            ("https://sso.example.com/introspect", introspection), ("https://sso.example.com", issuer),
            ("https://api.example.com", audience), ("SECRET", secret),
            ("/etc/ssl/certs/ca-certificates.crt", directory.appending(path: "ca.pem").path),
        ] { settings = settings.replacing(from, with: to) }
        let modules = try Software.apache.path("usr/lib/apache2/modules")
        let loaded = ["mpm_event", "authn_core", "authz_core", "authz_user"].map {
            "LoadModule \($0)_module \(modules)/mod_\($0).so"
        }
        let configuration = """
            ServerRoot \(directory.path)
            ServerName localhost
            Listen 127.0.0.1:\(port)
            PidFile \(directory.path)/pid
            ErrorLog \(directory.path)/log
            Mutex posixsem
            User nobody
            Group nogroup
            \(loaded.joined(separator: "\n"))
            LoadModule auth_openidc_module \(modules)/mod_auth_openidc.so
            DocumentRoot \(pages.path)
            \(settings)
            """
        let file = directory.appending(path: "httpd.conf")
        try Data(configuration.utf8).write(to: file)
        process = try ManagedProcess(
            try Software.apache.path(), ["-DFOREGROUND", "-f", file.path],
            environment: ["LD_LIBRARY_PATH": try Software.apache.libraries()], log: directory.appending(path: "output"))
        _ = try await eventually("Apache answers") { [self] in
            guard process.isRunning else { throw await process.ended(because: "has ended: \(log)") }
            return try? await get(nil)
        }
    }

    deinit { process.signal(SIGTERM) }

    var log: String {
        process.errors + ((try? String(contentsOf: directory.appending(path: "log"), encoding: .utf8)) ?? "")
    }

    /// The status of `GET /orders`.
    func get(_ token: String?) async throws -> Int {
        try await HTTPRequest(
            "GET", "/orders", fields: token.map { [("Authorization", "Bearer \($0)")] } ?? []
        ).send(to: port).status
    }
}
