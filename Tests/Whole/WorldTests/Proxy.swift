import BrokerHarness
import BrokerTesting
import Foundation
import PrivateCluster
import StrictCoding
import Testing

/// A proxy of `deploy/proxies` in front of two brokers, as a process on loopback. Only addresses and file names are
/// those of the test.
final class Proxy: Sendable {
    enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case nginx, haproxy, caddy

        var testDescription: String { rawValue }

        fileprivate var software: Software {
            switch self {
            case .nginx: .nginx
            case .haproxy: .haproxy
            case .caddy: .caddy
            }
        }

        fileprivate var recipe: String {
            switch self {
            case .nginx: "nginx.conf"
            case .haproxy: "haproxy.cfg"
            case .caddy: "Caddyfile"
            }
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static let name = "sso.example.test"
    /// What the test's identity provider sends from.
    static let providerAddress = "127.0.0.2"

    let port: UInt16
    private let certificate: TestCertificate
    private let process: ManagedProcess
    private let directory: URL

    /// - Parameters:
    ///   - brokers: The public ports of the first and the second broker.
    ///   - internalPort: The internal port of both.
    ///   - port: Where it listens; a free one by default.
    ///   - certificate: Its own; a new one by default.
    init(
        _ kind: Kind, brokers: (UInt16, UInt16), internalPort: UInt16, port: UInt16? = nil,
        certificate: TestCertificate? = nil
    ) async throws {
        let program = try kind.software.path()
        let port = try port ?? LoopbackPort.free()
        let certificate = try certificate ?? TestCertificate.current()
        (self.port, self.certificate) = (port, certificate)
        directory = URL(filePath: try WorkingDirectory(named: "\(kind)").path)
        for (file, text) in [
            ("tls.pem", certificate.certificate), ("tls.key", certificate.key),
            ("both.pem", certificate.certificate + certificate.key),
        ] {
            try Data(text.utf8).write(to: directory.appending(path: file))
        }

        var text = try String(
            contentsOf: Checkout.root.appending(path: "deploy/proxies/\(kind.recipe)"), encoding: .utf8)
        func replace(_ from: String, _ to: String) throws {
            guard text.contains(from) else { throw Failure(description: "\(kind.recipe) does not say \(from)") }
            text = text.replacing(from, with: to)
        }
        try replace("10.0.0.11:8080", "127.0.0.1:\(brokers.0)")
        try replace("10.0.0.12:8080", "127.0.0.1:\(brokers.1)")
        try replace("10.0.0.11:8081", "127.0.0.1:\(internalPort)")
        try replace("10.0.0.12:8081", "127.0.0.1:\(internalPort)")
        try replace("192.0.2.10", Self.providerAddress)
        let main: String
        switch kind {
        case .nginx:
            try replace("listen 443 ", "listen 127.0.0.1:\(port) ")
            try replace("/etc/ssl/sso.example.com.pem", directory.appending(path: "tls.pem").path)
            try replace("/etc/ssl/sso.example.com.key", directory.appending(path: "tls.key").path)
            try replace("/var/cache/nginx", directory.path)
            try replace("sso.example.com", Self.name)
            // What Debian's nginx.conf says around the recipe, on paths of the test.
            let folder = directory.path
            let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: " ")
            main = "http.conf"
            try Data(
                """
                daemon off; pid \(directory.path)/pid; error_log stderr warn;
                events {}
                http { access_log off; \(temporary) include \(directory.path)/\(kind.recipe); }
                """.utf8
            ).write(to: directory.appending(path: main))
        case .haproxy:
            try replace("bind :443 ", "bind 127.0.0.1:\(port) ")
            try replace("/etc/haproxy/sso.example.com.pem", directory.appending(path: "both.pem").path)
            try replace("port 8081", "port \(internalPort)")
            main = kind.recipe
        case .caddy:
            try replace("/etc/ssl/sso.example.com.pem", directory.appending(path: "tls.pem").path)
            try replace("/etc/ssl/sso.example.com.key", directory.appending(path: "tls.key").path)
            try replace("sso.example.com {", "\(Self.name):\(port) {")
            try replace("health_port 8081", "health_port \(internalPort)")
            main = kind.recipe
        }
        try Data(text.utf8).write(to: directory.appending(path: kind.recipe))

        let file = directory.appending(path: main).path
        let arguments =
            switch kind {
            case .nginx: ["-p", directory.path, "-c", file]
            case .haproxy: ["-db", "-f", file]
            case .caddy: ["run", "--config", file, "--adapter", "caddyfile"]
            }
        process = try ManagedProcess(
            program, arguments,
            environment: ["LD_LIBRARY_PATH": try kind.software.libraries(), "HOME": directory.path],
            log: directory.appending(path: "log"))
        _ = try await eventually("\(kind) answers") { [self] in
            guard process.isRunning else { throw await process.ended(because: "has ended") }
            return try? await get("/")
        }
    }

    deinit { process.signal(SIGKILL) }

    var log: String { process.errors }

    func get(_ path: String, _ arguments: [String] = []) async throws -> Answer {
        try await curl(arguments + ["https://\(Self.name):\(port)\(path)"])
    }

    func post(_ path: String, _ body: String, _ arguments: [String] = []) async throws -> Answer {
        try await get(path, ["--data-raw", body] + arguments)
    }

    /// Sends a token request so often, one after the other, as one client does. How many connections that took.
    func connections(for requests: Int, _ arguments: [String]) async throws -> Int {
        let address = "https://\(Self.name):\(port)/token"
        let output = try await ManagedProcess.output(
            of: "/usr/bin/env",
            curl + ["--write-out", "\n%{num_connects}\n", "--data-raw", "grant_type=none"] + arguments
                + Array(repeating: address, count: requests))
        return output.split(separator: "\n").compactMap { Int($0) }.reduce(0, +)
    }

    struct Answer: Sendable {
        let status: Int
        /// Of HTTP, as curl names it: `1.1` or `2`.
        let version: String
        let body: String

        var json: JSONObject? { try? JSONReader.parse(Array(body.utf8)).object }
    }

    private var curl: [String] {
        [
            "curl", "--silent", "--show-error", "--max-time", "30",
            "--cacert", directory.appending(path: "tls.pem").path, "--resolve", "\(Self.name):\(port):127.0.0.1",
        ]
    }

    private func curl(_ arguments: [String]) async throws -> Answer {
        let output = try await ManagedProcess.output(
            of: "/usr/bin/env", curl + ["--write-out", "\n%{http_code} %{http_version}\n"] + arguments)
        let lines = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        guard let last = lines.last?.split(separator: " "), last.count == 2, let status = Int(last[0]) else {
            throw Failure(description: "curl wrote \(output)")
        }
        return Answer(status: status, version: String(last[1]), body: lines.dropLast().joined(separator: "\n"))
    }
}
