import BrokerHarness
import Foundation
import Testing

/// Software of others that a test needs. `deploy/packages --world` gets it: Debian's packages are unpacked below `.build`
/// unless they are installed, and virtual environments of Python are made from the pinned packages of `Python/NAME.txt`.
enum Software: String, Sendable {
    case apache, caddy, chromium, glewlwyd, go, haproxy, lemonldap, nginx, pgbouncer, typescript
    /// The client libraries, the JWT libraries and Canaille.
    case interoperability
    case mitmproxy, schemathesis

    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// The lists of packages, and the programs of the tests.
    static let scripts = Checkout.root.appending(path: "Tests/Whole/WorldTests/Python")

    var isHere: Bool { root != nil }

    /// Where it is unpacked or made.
    private var unpacked: URL {
        let folder =
            switch self {
            case .interoperability, .mitmproxy, .schemathesis: ".build/python/\(rawValue)"
            default: ".build/\(rawValue)"
            }
        return Checkout.root.appending(path: folder)
    }

    /// The file that is there if all of it is.
    private var program: String {
        switch self {
        case .apache: "usr/sbin/apache2"
        case .caddy, .glewlwyd: "usr/bin/\(rawValue)"
        case .chromium: "usr/lib/chromium/chromium-headless-shell"
        case .go: "usr/lib/go-1.19/bin/go"
        case .haproxy, .nginx, .pgbouncer: "usr/sbin/\(rawValue)"
        case .lemonldap: "usr/share/lemonldap-ng/bin/purgeCentralCache"
        case .typescript: "usr/share/nodejs/typescript/bin/tsc"
        case .interoperability, .mitmproxy, .schemathesis: "made-from.txt"
        }
    }

    /// The folder above `usr`, or the virtual environment; `nil` if it is missing.
    private var root: URL? {
        switch self {
        case .interoperability, .mitmproxy, .schemathesis:
            let list = try? Data(contentsOf: Self.scripts.appending(path: "\(rawValue).txt"))
            let made = try? Data(contentsOf: unpacked.appending(path: program))
            return list != nil && list == made ? unpacked : nil
        default:
            return [unpacked, URL(filePath: "/")].first {
                FileManager.default.isExecutableFile(atPath: $0.appending(path: program).path)
            }
        }
    }

    /// A file or folder of it.
    /// - Parameter path: Without a slash at its beginning; by default its program.
    func path(_ path: String? = nil) throws -> String {
        guard let root else { throw Missing(description: "\(rawValue) is not here") }
        let file = root.appending(path: path ?? program).path
        // Of what is unpacked, the packages that this machine has already are left out.
        if path != nil, !FileManager.default.fileExists(atPath: file) { return "/\(path ?? "")" }
        return file
    }

    /// The libraries that are unpacked beside it, because this machine lacks them.
    func libraries() throws -> String {
        let folder = try path("usr/lib")
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix("-linux-gnu") }
            .map { "\(folder)/\($0)" }.joined(separator: ":")
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test where some of this software is missing. With `WORLD_REQUIRED=1` that is a failure.
    static func needs(_ software: Software...) -> Self {
        let names = software.filter { !$0.isHere }.map(\.rawValue)
        let missing = "there is no \(names.joined(separator: ", no ")) here; deploy/packages --world gets it"
        return .enabled("\(missing)") {
            if names.isEmpty { return true }
            if ProcessInfo.processInfo.environment["WORLD_REQUIRED"] == "1" {
                throw Software.Missing(description: missing)
            }
            return false
        }
    }
}
