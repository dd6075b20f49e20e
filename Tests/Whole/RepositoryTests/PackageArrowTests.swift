import Testing

/// Who may know whom. The build refuses an import that the manifest does not grant; this refuses a manifest that grants
/// too much.
struct PackageArrowTests {
    private let manifest: PackageManifest

    /// Of this package. `nil`: whatever is not development only.
    private static let mayDependOn: [String: Set<String>?] = [
        "StrictCoding": [],
        "RegularFiles": [],
        "YAML": ["CYAML"],
        "NativeSSO": ["StrictCoding"],
        "OAuthWire": ["StrictCoding"],
        "JOSE": ["StrictCoding"],
        "KeyModule": ["NativeSSO", "JOSE", "StrictCoding", "COpenSSL", "CPKCS11", "CProcess", "CSecretMemory"],
        "PostgresClient": ["CLibPQ"],
        "Registry": ["NativeSSO", "PostgresClient", "StrictCoding"],
        "Migrations": [],
        "Migrator": ["PostgresClient", "Migrations", "StrictCoding"],
        "IdentityProvider": ["NativeSSO", "OAuthWire", "JOSE", "StrictCoding", "RegularFiles"],
        "HTTPServer": ["StrictCoding"],
        "BrokerHTTP": ["HTTPServer", "NativeSSO", "OAuthWire", "JOSE", "StrictCoding"],
        "native-sso": nil,
        "TokenVerifier": ["JOSE", "StrictCoding"],
        "TokenVerifierHummingbird": ["TokenVerifier", "JOSE"],
        "NativeSSOClient": ["JOSE", "OAuthWire", "StrictCoding"],
        "NativeSSOURLSession": ["NativeSSOClient"],
        "NativeSSOAsyncHTTPClient": ["NativeSSOClient"],
        "DevelopmentIdP": ["JOSE", "OAuthWire", "StrictCoding"],
        "ChildProcesses": [],
        "PrivateCluster": ["ChildProcesses"],
        "BrokerTesting": ["ChildProcesses", "NativeSSO", "JOSE", "StrictCoding"],
        "RegistryConformance": ["NativeSSO", "BrokerTesting"],
        "CLibPQ": [], "COpenSSL": [], "CPKCS11": [], "CProcess": [], "CSecretMemory": [],
        "CYAML": [],
    ]

    private static let developmentOnly: Set = [
        "ChildProcesses", "DevelopmentIdP", "PrivateCluster", "BrokerTesting", "native-sso-dev", "native-sso-bench",
        "BrokerHarness",
        "RegistryConformance",
    ]

    init() throws {
        manifest = PackageManifest(text: try Repository.text(of: "Package.swift"))
    }

    @Test func everyTargetKeepsToItsArrows() throws {
        for target in manifest.targets where !target.isTest {
            if Self.developmentOnly.contains(target.name), Self.mayDependOn[target.name] == nil { continue }
            let allowed = try #require(Self.mayDependOn[target.name], "\(target.name) has no row in this table")
            guard let allowed else { continue }
            let surplus = Set(target.dependencies).subtracting(allowed)
            #expect(surplus.isEmpty, "\(target.name) may not know \(surplus.sorted())")
        }
    }

    @Test(arguments: [
        "native-sso", "TokenVerifier", "TokenVerifierHummingbird", "NativeSSOClient", "NativeSSOURLSession",
        "NativeSSOAsyncHTTPClient",
    ])
    func whatIsShippedHoldsNothingOfDevelopment(_ product: String) {
        let closure = manifest.closure(of: product)
        #expect(closure.isDisjoint(with: Self.developmentOnly), "\(closure.intersection(Self.developmentOnly))")
        #expect(closure.count > 1)
    }

    /// A product that links the Testing library would need it on the machine where it runs.
    @Test(arguments: ["native-sso", "native-sso-dev", "native-sso-bench"])
    func noProgramLinksTheTestingLibrary(_ product: String) throws {
        let linked = manifest.closure(of: product)
        for file in try Repository.files(below: "Sources", suffix: ".swift")
        where file.lines.contains(where: { $0.hasSuffix("import Testing") }) {
            #expect(!linked.contains(file.target), "\(product) links \(file.path)")
        }
    }

    @Test func aManifestIsReadAsItIsMeant() {
        let manifest = PackageManifest(
            text: """
                .target(name: "A", swiftSettings: s),
                // .target(name: "Gone", dependencies: ["A"]),
                .executableTarget(name: "b", dependencies: ["A", .product(name: "P", package: "p"), .shortcut], x: [1]),
                .testTarget(name: "ATests", dependencies: ["b"]),
                """)
        #expect(manifest.targets.map(\.name) == ["A", "b", "ATests"])
        #expect(manifest.targets.map(\.isTest) == [false, false, true])
        #expect(manifest.closure(of: "ATests") == ["ATests", "b", "A", "P", "p"])
    }
}
