import BrokerHarness
import Foundation

/// A program in another language that calls the broker. `deploy/packages --tests` unpacks what builds and runs it.
enum ForeignLanguage: String, CaseIterable, Sendable {
    case typescript, go

    private var sources: URL { Checkout.root.appending(path: "Tests/Whole/EndToEndTests/Clients/\(rawValue)") }
    private var unpacked: URL { Checkout.unpacked(rawValue) }

    var isThere: Bool {
        switch self {
        case .typescript: isThere("usr/share/nodejs/typescript/bin/tsc") && Self.node != nil
        case .go: isThere("usr/lib/go-1.19/bin/go")
        }
    }

    private func isThere(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: unpacked.appending(path: path).path)
    }

    private static let node = [Checkout.unpacked("typescript").appending(path: "usr/bin/node").path, "/usr/bin/node"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Builds the program below `directory` and runs it with the file of values. It trusts one CA.
    func run(_ values: String, ca: String, in directory: URL) async throws {
        let output = directory.appending(path: rawValue).path
        switch self {
        case .typescript:
            let libraries = unpacked.appending(path: "usr/share/nodejs").path
            let node = Self.node ?? ""
            let files = ["client.ts", "try.ts", "jose.d.ts"].map { sources.appending(path: $0).path }
            _ = try await ManagedProcess.output(
                of: node,
                [
                    "\(libraries)/typescript/bin/tsc", "--strict", "--target", "es2022", "--lib", "es2022,dom",
                    "--module",
                    "commonjs", "--outDir", output,
                ] + files, name: "tsc", within: .seconds(60))
            _ = try await ManagedProcess.output(
                of: node, ["\(output)/try.js", values], name: rawValue,
                environment: ["NODE_PATH": libraries, "NODE_EXTRA_CA_CERTS": ca], within: .seconds(60))
        case .go:
            let root = unpacked.appending(path: "usr/lib/go-1.19").path
            _ = try await ManagedProcess.output(
                of: "\(root)/bin/go",
                ["build", "-o", output] + ["main.go", "try.go"].map { sources.appending(path: $0).path },
                name: "go build",
                environment: [
                    "GOROOT": root, "GOPATH": unpacked.appending(path: "usr/share/gocode").path, "GO111MODULE": "off",
                    "GOCACHE": directory.appending(path: "go-cache").path,
                ], within: .seconds(120))
            _ = try await ManagedProcess.output(
                of: output, [values], name: rawValue, environment: ["SSL_CERT_FILE": ca], within: .seconds(60))
        }
    }
}
