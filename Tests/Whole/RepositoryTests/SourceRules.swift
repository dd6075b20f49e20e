import Foundation

extension SourceRule {
    private static let executables: Set = ["native-sso", "native-sso-dev", "native-sso-bench"]
    /// Where instants and spans are arguments.
    private static let timeless: Set = ["NativeSSO", "JOSE", "OAuthWire", "StrictCoding"]

    /// The folders of its targets.
    private static let ofBroker = Set(
        (try? FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appending(path: "Sources/Broker").path)) ?? [])
    private static let linkedByApps: Set = [
        "StrictCoding", "OAuthWire", "JOSE", "NativeSSOClient", "NativeSSOURLSession", "TokenVerifier",
    ]

    /// What holds for `Sources/`.
    static let sources: [SourceRule] = [
        SourceRule("try!", because: "one trap ends every request in flight") { /\btry!/ },
        SourceRule("as!", because: "one trap ends every request in flight") { /\bas!/ },
        SourceRule("fatalError", because: "one trap ends every request in flight") { /\bfatalError\(/ },
        SourceRule("print", because: "a library has no terminal; the broker logs", exceptIn: executables) {
            /\b(?:print|debugPrint|dump)\(/
        },
        SourceRule("the clock", because: "time is an argument there, so that expiry can be tested", in: timeless) {
            /\bDate\(\)|\bDate\.now\b|\btime\(nil\)|\bContinuousClock\(\)|\bclock_gettime\(/
        },
        SourceRule("format string", because: "a format and its arguments are not checked against each other") {
            /\bString\(format:/
        },
        SourceRule(
            "libpq", because: "PostgresClient alone knows PostgreSQL's C interface", exceptIn: ["PostgresClient"]
        ) { /\bimport CLibPQ\b/ },
        SourceRule("OpenSSL", because: "KeyModule alone sees private keys", exceptIn: ["KeyModule"]) {
            /\bimport COpenSSL\b/
        },
        SourceRule("PKCS#11", because: "KeyModule alone sees private keys", exceptIn: ["KeyModule"]) {
            /\bimport CPKCS11\b/
        },
        SourceRule("libyaml", because: "YAML alone knows libyaml's C interface", exceptIn: ["YAML"]) {
            /\bimport CYAML\b/
        },
        SourceRule(
            "Hummingbird", because: "the broker does without a web framework",
            exceptIn: ["TokenVerifierHummingbird", "DevelopmentIdP", "native-sso-dev"]
        ) { /\bimport Hummingbird/ },
        SourceRule(
            "newer than iOS 16", because: "apps of iOS 16 and macOS 13 link it", in: linkedByApps
        ) { /\bimport Synchronization\b|\bMutex\(|\bUTF8Span\b|\bString\(validating:|utf8\.span/ },
        SourceRule(
            "all of Foundation", because: "FoundationEssentials does, and the rest links ICU", in: ofBroker,
            exceptIn: ["EmbedMigrations"]  // the build runs it
        ) { /\bimport Foundation\s*$/ },
        SourceRule(
            "Foundation", because: "the domain and its vocabulary depend on no framework",
            in: ["NativeSSO", "OAuthWire"]
        ) { /\bimport Foundation/ },
    ]

    /// What holds for every text of the project.
    static let everywhere: [SourceRule] = [
        // The groups keep this line from breaking its own rule.
        SourceRule("to-do", because: "what is not done is an issue, not a comment", scope: .wholeLine) {
            /\bTO(?:DO)\b|\bFIX(?:ME)\b/
        }
    ]
}
