import ArgumentParser
import AsyncHTTPClient
import Glibc
import HTTPServer
import NIOCore
import NIOHTTP1

struct HealthcheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck", abstract: "Ask the running broker whether it is alive, or ready.",
        discussion: """
            For containers, which have no other HTTP client. It connects to the metrics listener of the configuration, or \
            else to the internal listener, over loopback if that listens on every address.
            """)

    @Flag(help: "Ask whether the broker is ready to serve, not only whether it is alive.") var ready = false
    @OptionGroup var options: GlobalOptions

    /// For everything together. A container engine kills a check that takes longer than its own limit.
    private static let limit = TimeAmount.seconds(3)

    func run() async throws {
        let (metrics, internalListener) = try options.read(openingFiles: false) { root in
            let metrics = root.metrics()
            return root.internalListener().map { (metrics, $0) }
        }
        guard metrics != nil || !internalListener.hasTLS else {
            throw CommandFailure.usage(
                "internal.listen speaks TLS, for which this command has no certificate; set metrics.listen")
        }
        let listen = metrics?.listen ?? internalListener.listen
        guard listen.port != 0 else {
            throw CommandFailure.usage("the listener has port 0, so the broker's port is not known")
        }
        let url = "http://\(listen.reachable)\(ready ? "/readyz" : "/livez")"
        let (status, body) = try await Self.ask(url)
        let text = String(decoding: body, as: UTF8.self)
        guard status == 200 else { throw CommandFailure.refused("\(url) answers \(status): \(text)") }
        try options.output.show(JSONDocument(octets: body))
    }

    /// - Returns: The status, and what was said.
    static func ask(_ url: String) async throws(CommandFailure) -> (status: UInt, body: [UInt8]) {
        do {
            let answer = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: Self.limit)
            return (answer.status.code, Array(try await answer.body.collect(upTo: 64 << 10).readableBytesView))
        } catch let error as IOError where error.errnoCode == ECONNREFUSED {
            throw .infrastructure("no answer from \(url): nothing listens there; is the broker running?")
        } catch {
            throw .infrastructure("no answer from \(url): \(error)")
        }
    }
}

extension ListenAddress {
    /// Where a client on the same machine connects: loopback instead of every address.
    var reachable: String {
        guard address.isUnspecified else { return description }
        return address.family == .v6 ? "[::1]:\(port)" : "127.0.0.1:\(port)"
    }
}
