import BrokerHarness
import Foundation

/// A program in another language that calls the broker. `deploy/packages --world` unpacks what builds and runs it.
enum ForeignLanguage: String, CaseIterable, Sendable {
    case typescript, go

    private var sources: URL { Checkout.root.appending(path: "Tests/Whole/WorldTests/Clients/\(rawValue)") }

    /// Builds the program below `directory` and runs it with the file of values. It trusts one CA.
    func run(_ values: String, ca: String, in directory: URL) async throws {
        let output = directory.appending(path: rawValue).path
        switch self {
        case .typescript:
            let software = Software.typescript
            // Installed: Debian's Node reads parts of itself from their absolute paths.
            let (node, libraries) = ("/usr/bin/node", try software.path("usr/share/nodejs"))
            let files = ["client.ts", "try.ts", "jose.d.ts"].map { sources.appending(path: $0).path }
            _ = try await ManagedProcess.output(
                of: node,
                [
                    try software.path(), "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module",
                    "commonjs", "--outDir", output,
                ] + files, name: "tsc", within: .seconds(60))
            _ = try await ManagedProcess.output(
                of: node, ["\(output)/try.js", values], name: rawValue,
                environment: ["NODE_PATH": libraries, "NODE_EXTRA_CA_CERTS": ca], within: .seconds(60))
        case .go:
            let software = Software.go
            _ = try await ManagedProcess.output(
                of: try software.path(),
                ["build", "-o", output] + ["main.go", "try.go"].map { sources.appending(path: $0).path },
                name: "go build",
                environment: [
                    "GOROOT": try software.path("usr/lib/go-1.19"), "GOPATH": try software.path("usr/share/gocode"),
                    "GO111MODULE": "off",
                    "GOCACHE": directory.appending(path: "go-cache").path,
                ], within: .seconds(120))
            _ = try await ManagedProcess.output(
                of: output, [values], name: rawValue, environment: ["SSL_CERT_FILE": ca], within: .seconds(60))
        }
    }
}
