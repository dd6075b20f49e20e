import ArgumentParser
import BrokerHarness

struct KeysCommand: MeasuringCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "What signatures cost by each key provider, and rotations under load.",
        discussion: """
            Signatures of the file provider beside a loop of C over OpenSSL, of a PKCS#11 token beside one over the same module, \
            and exchanges with a signer process beside the same with key files, each in the same round. Then rotations of the \
            signing key and of the refresh-token key under load: three resource servers, which keep the JWKS as its headers \
            say, verify every access token. A token that none of the broker's published keys verifies, or a refused refresh, \
            ends the run with status 1.
            """)

    @OptionGroup var options: LoadOptions
    @OptionGroup var keys: KeyOptions

    func measure(_ run: inout BenchmarkRun) async throws {
        let signatures = SignatureRun(
            options: options, module: keys.module, directory: try run.directory.subdirectory("signatures"))
        run.add(try await signatures.section())
        let signer = SignerRun(
            installation: try await run.installation(), options: options, connections: keys.connections)
        run.add(try await signer.section())
        guard keys.rotations > 0 else { return }
        run.add(try await KeyRotationRun(installation: try await run.installation(), keys: keys).section())
    }
}

struct KeyOptions: ParsableArguments {
    @Option(help: "The PKCS#11 module; without it, that part is left out.")
    var module = "/usr/lib/softhsm/libsofthsm2.so"
    @Option(help: "Rotations of each of the two keys.") var rotations = 10
    @Option(name: .customLong("every"), help: "Seconds from one rotation to the next.") var interval = 60.0
    @Option(help: "Keep-alive connections of the exchanges.") var connections = 64

    mutating func validate() throws {
        guard (0...1000).contains(rotations), (1...3600).contains(interval), (1...1000).contains(connections) else {
            throw ValidationError(
                "--rotations is at most 1000, --every between 1 and 3600, --connections between 1 and 1000")
        }
    }
}
