// swift-tools-version: 6.2
import PackageDescription

// Every target: Swift 6 mode, warnings are errors, `any` is spelled out, imports are internal unless said otherwise.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// The targets that talk to C: every unsafe use is marked in the source.
let strictWithC: [SwiftSetting] = strict + [.strictMemorySafety()]

// A dependency with one of these conditions needs its package only if a trait of the condition is enabled. An app that takes
// `NativeSSOClient` with `traits: []` gets swift-crypto and no other package.
let forAPIs: TargetDependencyCondition? = .when(traits: ["API", "Programs"])
let forPrograms: TargetDependencyCondition? = .when(traits: ["Programs"])

extension Target.Dependency {
    static let argumentParser: Self = .product(
        name: "ArgumentParser", package: "swift-argument-parser", condition: forPrograms)
    static let asyncHTTPClient: Self = .product(
        name: "AsyncHTTPClient", package: "async-http-client", condition: forAPIs)
    static let deque: Self = .product(name: "DequeModule", package: "swift-collections", condition: forPrograms)
    static let crypto: Self = .product(name: "Crypto", package: "swift-crypto")
    static let cryptoExtras: Self = .product(name: "CryptoExtras", package: "swift-crypto")
    static let hummingbird: Self = .product(name: "Hummingbird", package: "hummingbird", condition: forAPIs)
    static let hummingbirdTesting: Self = .product(
        name: "HummingbirdTesting", package: "hummingbird", condition: forPrograms)
    static let httpTypes: Self = .product(name: "HTTPTypes", package: "swift-http-types", condition: forAPIs)
    static let logging: Self = .product(name: "Logging", package: "swift-log", condition: forPrograms)
    static let nioConcurrencyHelpers: Self = .product(
        name: "NIOConcurrencyHelpers", package: "swift-nio", condition: forAPIs)
    static let nioCore: Self = .product(name: "NIOCore", package: "swift-nio", condition: forAPIs)
    static let nioPosix: Self = .product(name: "NIOPosix", package: "swift-nio", condition: forPrograms)
    static let nioEmbedded: Self = .product(name: "NIOEmbedded", package: "swift-nio", condition: forPrograms)
    static let nioHTTP1: Self = .product(name: "NIOHTTP1", package: "swift-nio", condition: forAPIs)
    static let nioHTTP2: Self = .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: forPrograms)
    static let nioHPACK: Self = .product(name: "NIOHPACK", package: "swift-nio-http2", condition: forPrograms)
    static let nioTLS: Self = .product(name: "NIOTLS", package: "swift-nio", condition: forPrograms)
    static let nioSSL: Self = .product(name: "NIOSSL", package: "swift-nio-ssl", condition: forPrograms)
    static let serviceLifecycle: Self = .product(
        name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: forPrograms)
    static let unixSignals: Self = .product(
        name: "UnixSignals", package: "swift-service-lifecycle", condition: forPrograms)
}

/// A version and the later ones without a breaking change, so that the pins of an app or API do not conflict.
///
/// The scripts of `deploy` set the variable: warnings are errors, and a build of this revision is the same build everywhere.
let isExact = Context.environment["NATIVE_SSO_EXACT_DEPENDENCIES"] != nil
func from(_ version: Version) -> Range<Version> {
    let (major, minor, patch) = (version.major, version.minor, version.patch)
    return version..<(isExact ? Version(major, minor, patch + 1) : Version(major + 1, 0, 0))
}

let package = Package(
    name: "native-sso",
    // For the apps; the programs run on Linux.
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .executable(name: "native-sso", targets: ["native-sso"]),
        .executable(name: "native-sso-dev", targets: ["native-sso-dev"]),
        .executable(name: "native-sso-bench", targets: ["native-sso-bench"]),
        // Each names the modules whose types its users meet.
        .library(name: "TokenVerifier", targets: ["TokenVerifier", "JOSE", "StrictCoding"]),
        .library(name: "TokenVerifierHummingbird", targets: ["TokenVerifierHummingbird"]),
        .library(
            name: "NativeSSOClient", targets: ["NativeSSOClient", "NativeSSOURLSession", "OAuthWire", "StrictCoding"]),
        .library(name: "NativeSSOAsyncHTTPClient", targets: ["NativeSSOAsyncHTTPClient"]),
    ],
    traits: [
        .default(enabledTraits: ["Programs"]),
        .trait(name: "API", description: "TokenVerifier, TokenVerifierHummingbird and NativeSSOAsyncHTTPClient"),
        .trait(name: "Programs", description: "Everything: the broker, its tools and its tests"),
    ],
    dependencies: [
        // The libraries and the programs need these.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from("2.28.1")),
        .package(url: "https://github.com/apple/swift-nio", from("2.101.2")),
        .package(url: "https://github.com/apple/swift-http-types", from("1.8.0")),
        .package(url: "https://github.com/apple/swift-crypto", from("4.5.2")),
        .package(url: "https://github.com/swift-server/async-http-client", from("1.37.0")),
        // Only the programs need these.
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        // The broker.
        .target(name: "StrictCoding", path: "Sources/Broker/StrictCoding", swiftSettings: strict),
        .target(name: "RegularFiles", path: "Sources/Broker/RegularFiles", swiftSettings: strict),
        .target(
            name: "YAML", dependencies: ["CYAML"], path: "Sources/Broker/YAML", swiftSettings: strictWithC),
        .target(
            name: "NativeSSO", dependencies: ["StrictCoding", .crypto], path: "Sources/Broker/NativeSSO",
            swiftSettings: strict),
        .target(
            name: "OAuthWire", dependencies: ["StrictCoding"], path: "Sources/Broker/OAuthWire", swiftSettings: strict),
        .target(
            name: "JOSE", dependencies: ["StrictCoding", .crypto, .cryptoExtras], path: "Sources/Broker/JOSE",
            swiftSettings: strict),
        .target(
            name: "KeyModule",
            dependencies: [
                "NativeSSO", "JOSE", "StrictCoding", "COpenSSL", "CPKCS11", "CProcess", "CSecretMemory", .crypto,
            ],
            path: "Sources/Broker/KeyModule",
            swiftSettings: strictWithC),
        .target(
            name: "PostgresClient", dependencies: ["CLibPQ", .deque], path: "Sources/Broker/PostgresClient",
            swiftSettings: strictWithC),
        .target(
            name: "Registry", dependencies: ["NativeSSO", "PostgresClient", "StrictCoding"],
            path: "Sources/Broker/Registry", swiftSettings: strict),
        .plugin(name: "EmbedMigrations", capability: .buildTool(), path: "Sources/Broker/EmbedMigrations"),
        .target(
            name: "Migrations", path: "Migrations", exclude: ["README.md", "schema.sql"], swiftSettings: strict,
            plugins: ["EmbedMigrations"]),
        .target(
            name: "Migrator", dependencies: ["PostgresClient", "Migrations", .crypto], path: "Sources/Broker/Migrator",
            swiftSettings: strict),
        .target(
            name: "IdentityProvider",
            dependencies: [
                "NativeSSO", "OAuthWire", "JOSE", "StrictCoding", "RegularFiles", .asyncHTTPClient, .nioCore,
                .nioPosix, .nioHTTP1, .nioSSL, .logging,
            ], path: "Sources/Broker/IdentityProvider",
            swiftSettings: strict),
        .target(
            name: "HTTPServer",
            dependencies: [
                "StrictCoding", .nioCore, .nioPosix, .nioHTTP1, .nioHTTP2, .nioHPACK, .nioTLS,
                .nioSSL,
                .serviceLifecycle,
            ], path: "Sources/Broker/HTTPServer", swiftSettings: strict),
        .target(
            name: "BrokerHTTP",
            dependencies: [
                "HTTPServer", "NativeSSO", "OAuthWire", "JOSE", "StrictCoding", .nioCore, .nioPosix, .nioHTTP1,
                .logging,
                .serviceLifecycle,
            ], path: "Sources/Broker/BrokerHTTP",
            swiftSettings: strict),
        .executableTarget(
            name: "native-sso",
            dependencies: [
                "NativeSSO", "OAuthWire", "JOSE", "KeyModule", "PostgresClient", "Registry", "Migrations", "Migrator",
                "IdentityProvider", "HTTPServer", "BrokerHTTP", "StrictCoding", "RegularFiles", "YAML", .argumentParser,
                .asyncHTTPClient, .nioCore, .nioHTTP1,
                .logging,
                .serviceLifecycle,
                .unixSignals,
            ], path: "Sources/Broker/native-sso",
            swiftSettings: strict),

        // For those who meet it.
        .target(
            name: "TokenVerifier",
            dependencies: [
                "JOSE", "StrictCoding", .asyncHTTPClient, .crypto, .nioConcurrencyHelpers, .nioCore, .nioHTTP1,
            ], path: "Sources/Libraries/TokenVerifier", swiftSettings: strict),
        .target(
            name: "TokenVerifierHummingbird", dependencies: ["TokenVerifier", "JOSE", .hummingbird, .httpTypes],
            path: "Sources/Libraries/TokenVerifierHummingbird",
            swiftSettings: strict),
        .target(
            name: "NativeSSOClient", dependencies: ["JOSE", "OAuthWire", "StrictCoding", .crypto],
            path: "Sources/Libraries/NativeSSOClient", swiftSettings: strict),
        .target(
            name: "NativeSSOURLSession", dependencies: ["NativeSSOClient"],
            path: "Sources/Libraries/NativeSSOURLSession", swiftSettings: strict),
        .target(
            name: "NativeSSOAsyncHTTPClient",
            dependencies: ["NativeSSOClient", .asyncHTTPClient, .nioCore, .nioHTTP1],
            path: "Sources/Libraries/NativeSSOAsyncHTTPClient", swiftSettings: strict),

        // Development only: never linked by the broker.
        .target(
            name: "DevelopmentIdP",
            dependencies: [
                "JOSE", "OAuthWire", "StrictCoding", .crypto, .cryptoExtras, .hummingbird, .httpTypes, .nioCore,
                .logging,
            ], path: "Sources/Development/DevelopmentIdP",
            swiftSettings: strict),
        .target(name: "ChildProcesses", path: "Sources/Development/ChildProcesses", swiftSettings: strict),
        .target(
            name: "PrivateCluster", dependencies: ["ChildProcesses"], path: "Sources/Development/PrivateCluster",
            swiftSettings: strict),
        .target(
            name: "BrokerHarness",
            dependencies: [
                "PrivateCluster", "ChildProcesses", "BrokerTesting", "JOSE", "OAuthWire", "StrictCoding", .crypto,
            ],
            path: "Sources/Development/BrokerHarness", swiftSettings: strict),
        .executableTarget(
            name: "native-sso-dev",
            dependencies: [
                "BrokerHarness", "DevelopmentIdP", "NativeSSOClient", "NativeSSOAsyncHTTPClient", "PrivateCluster",
                "TokenVerifier", "TokenVerifierHummingbird", "BrokerTesting", "OAuthWire", "JOSE", "StrictCoding",
                .argumentParser, .asyncHTTPClient,
                .hummingbird, .httpTypes, .nioCore, .nioHTTP1, .logging, .unixSignals,
            ], path: "Sources/Development/native-sso-dev",
            swiftSettings: strict),
        .executableTarget(
            name: "native-sso-bench",
            dependencies: [
                "BrokerHarness", "BrokerTesting", "PrivateCluster", "ChildProcesses", "PostgresClient", "Registry",
                "OAuthWire", "JOSE", "StrictCoding", .argumentParser, .crypto, .cryptoExtras, .nioCore, .nioPosix,
                .nioSSL, .nioTLS,
            ], path: "Sources/Development/native-sso-bench",
            swiftSettings: strict),
        .target(
            name: "BrokerTesting",
            dependencies: [
                "ChildProcesses", "NativeSSO", "JOSE", "StrictCoding", .crypto, .cryptoExtras, .nioCore, .nioPosix,
                .nioHPACK, .nioSSL,
            ], path: "Sources/Development/BrokerTesting",
            swiftSettings: strict),
        // Imports Testing: for test targets alone.
        .target(
            name: "RegistryConformance", dependencies: ["NativeSSO", "BrokerTesting", .crypto],
            path: "Sources/Development/RegistryConformance",
            swiftSettings: strict),

        // What runs the programs as a whole.
        .testTarget(name: "RepositoryTests", path: "Tests/Whole/RepositoryTests", swiftSettings: strict),
        .testTarget(
            name: "AbuseTests",
            dependencies: ["BrokerHarness", "BrokerTesting", "PrivateCluster", "JOSE", "StrictCoding", .crypto],
            path: "Tests/Whole/AbuseTests",
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "BrokerHarness", "BrokerTesting", "NativeSSOClient", "NativeSSOAsyncHTTPClient", "NativeSSOURLSession",
                "PrivateCluster", "JOSE", "OAuthWire", "StrictCoding", .crypto,
            ], path: "Tests/Whole/EndToEndTests",
            swiftSettings: strict),
        // What needs software that others wrote.
        .testTarget(
            name: "WorldTests",
            dependencies: [
                "BrokerHarness", "BrokerTesting", "NativeSSOClient", "NativeSSOAsyncHTTPClient", "PostgresClient",
                "PrivateCluster", "JOSE", "OAuthWire", "StrictCoding", .asyncHTTPClient, .crypto, .nioSSL,
            ], path: "Tests/Whole/WorldTests",
            // Lists of packages, and programs in other languages, which the tests start from their place.
            exclude: ["Clients", "Python"],
            swiftSettings: strict),
        .testTarget(
            name: "LedgerTests",
            dependencies: ["BrokerHarness", "BrokerTesting", "PrivateCluster", "JOSE", "StrictCoding"],
            path: "Tests/Whole/LedgerTests",
            swiftSettings: strict),

        // The readers of what comes from outside, under any octets. Also compiled by deploy/fuzz, which links it to libFuzzer.
        .testTarget(
            name: "FuzzingTests",
            dependencies: [
                "native-sso", "BrokerHTTP", "HTTPServer", "BrokerTesting", "IdentityProvider", "JOSE", "NativeSSO",
                "OAuthWire",
                "PostgresClient", "StrictCoding", .nioCore, .nioEmbedded, .nioHTTP1, .nioHPACK,
            ], path: "Tests/Broker/FuzzingTests",
            swiftSettings: strict),

        // C libraries, each imported by one target.
        .systemLibrary(
            name: "CLibPQ", path: "Sources/Broker/CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(
            name: "COpenSSL", path: "Sources/Broker/COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]
        ),
        .systemLibrary(
            name: "CYAML", path: "Sources/Broker/CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        // The header only.
        .systemLibrary(name: "CPKCS11", path: "Sources/Broker/CPKCS11", providers: [.apt(["libp11-kit-dev"])]),
        .target(name: "CProcess", path: "Sources/Broker/CProcess"),
        .target(
            name: "CSecretMemory", path: "Sources/Broker/CSecretMemory", linkerSettings: [.linkedLibrary("crypto")]),

        .testTarget(
            name: "RegistryTests",
            dependencies: [
                "Registry", "NativeSSO", "PostgresClient", "Migrator", "Migrations", "PrivateCluster", "BrokerTesting",
                "RegistryConformance",
            ], path: "Tests/Broker/RegistryTests",
            swiftSettings: strict),
        .testTarget(
            name: "ChildProcessesTests", dependencies: ["ChildProcesses"],
            path: "Tests/Development/ChildProcessesTests", swiftSettings: strict),
        .testTarget(
            name: "BrokerHarnessTests",
            dependencies: ["BrokerHarness", "native-sso", "native-sso-dev", "native-sso-bench"],
            path: "Tests/Development/BrokerHarnessTests", swiftSettings: strict),
        .testTarget(
            name: "PrivateClusterTests", dependencies: ["PrivateCluster"],
            path: "Tests/Development/PrivateClusterTests", swiftSettings: strict),
        .testTarget(
            name: "PostgresClientTests", dependencies: ["PostgresClient", "PrivateCluster"],
            path: "Tests/Broker/PostgresClientTests", swiftSettings: strict),
        .testTarget(
            name: "MigratorTests", dependencies: ["Migrator", "Migrations", "PostgresClient", "PrivateCluster"],
            path: "Tests/Broker/MigratorTests",
            swiftSettings: strict),
        .testTarget(
            name: "StrictCodingTests", dependencies: ["StrictCoding"], path: "Tests/Broker/StrictCodingTests",
            swiftSettings: strict),
        .testTarget(
            name: "OAuthWireTests", dependencies: ["OAuthWire", "StrictCoding"], path: "Tests/Broker/OAuthWireTests",
            swiftSettings: strict),
        .testTarget(
            name: "KeyModuleTests",
            dependencies: [
                "KeyModule", "BrokerTesting", "ChildProcesses", "NativeSSO", "JOSE", "StrictCoding", .crypto,
            ],
            path: "Tests/Broker/KeyModuleTests",
            swiftSettings: strict),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "HTTPServer", "BrokerTesting", .nioCore, .nioPosix, .nioEmbedded, .nioHTTP1,
                .nioHPACK, .nioSSL,
            ], path: "Tests/Broker/HTTPServerTests", swiftSettings: strict),
        .testTarget(
            name: "BrokerHTTPTests",
            dependencies: [
                "BrokerHTTP", "HTTPServer", "BrokerTesting", "RegistryConformance", "NativeSSO", "OAuthWire", "JOSE",
                "StrictCoding", .logging, .nioCore, .nioPosix, .nioHTTP1, .nioHPACK, .nioSSL,
                .serviceLifecycle,
            ], path: "Tests/Broker/BrokerHTTPTests",
            swiftSettings: strict),
        .testTarget(
            name: "JOSETests", dependencies: ["JOSE", "StrictCoding", "BrokerTesting"],
            path: "Tests/Broker/JOSETests",
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "IdentityProviderTests",
            dependencies: [
                "IdentityProvider", "NativeSSO", "OAuthWire", "JOSE", "StrictCoding", "BrokerTesting", .nioCore,
                .nioPosix, .nioSSL,
                .logging,
            ], path: "Tests/Broker/IdentityProviderTests",
            swiftSettings: strict),
        .testTarget(
            name: "TokenVerifierTests",
            dependencies: ["TokenVerifier", "JOSE", "StrictCoding", "BrokerTesting", .crypto],
            path: "Tests/Libraries/TokenVerifierTests",
            swiftSettings: strict),
        .testTarget(
            name: "TokenVerifierHummingbirdTests",
            dependencies: [
                "TokenVerifierHummingbird", "TokenVerifier", "JOSE", "StrictCoding", "BrokerTesting", .hummingbird,
                .hummingbirdTesting, .httpTypes, .crypto,
            ], path: "Tests/Libraries/TokenVerifierHummingbirdTests",
            swiftSettings: strict),
        .testTarget(
            name: "NativeSSOClientTests",
            dependencies: ["NativeSSOClient", "OAuthWire", "StrictCoding", "JOSE", "BrokerTesting"],
            path: "Tests/Libraries/NativeSSOClientTests",
            swiftSettings: strict),
        .testTarget(
            name: "DevelopmentIdPTests",
            dependencies: [
                "DevelopmentIdP", "JOSE", "OAuthWire", "StrictCoding", .crypto, .hummingbird, .hummingbirdTesting,
                .httpTypes, .nioCore, .logging,
            ], path: "Tests/Development/DevelopmentIdPTests",
            swiftSettings: strict),
        .testTarget(
            name: "DevelopmentToolTests",
            dependencies: [
                "native-sso-dev", "ChildProcesses", "DevelopmentIdP", "NativeSSOClient", "OAuthWire", "PrivateCluster",
                "StrictCoding", "BrokerHarness", .hummingbird, .hummingbirdTesting, .logging,
            ], path: "Tests/Development/DevelopmentToolTests",
            swiftSettings: strict),
        .testTarget(
            name: "BenchmarkToolTests",
            dependencies: [
                "native-sso-bench", "BrokerHarness", "BrokerTesting", "JOSE", "StrictCoding",
            ], path: "Tests/Development/BenchmarkToolTests",
            swiftSettings: strict),
        .testTarget(
            name: "NativeSSOTests",
            dependencies: ["NativeSSO", "BrokerTesting", "RegistryConformance", "StrictCoding"],
            path: "Tests/Broker/NativeSSOTests",
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "NativeSSOProcessTests",
            dependencies: [
                "native-sso", "BrokerHarness", "BrokerTesting", "ChildProcesses", "JOSE", "NativeSSO", "PostgresClient",
                "PrivateCluster", "StrictCoding",
            ], path: "Tests/Broker/NativeSSOProcessTests",
            // The tests read and update them in their place.
            exclude: ["Transcripts"], swiftSettings: strict),
        .testTarget(
            name: "NativeSSOCommandTests",
            dependencies: [
                "native-sso", "BrokerHTTP", "HTTPServer", "BrokerTesting", "ChildProcesses", "IdentityProvider",
                "KeyModule",
                "NativeSSO", "JOSE", "OAuthWire", "PostgresClient", "Registry", "StrictCoding", "YAML", .argumentParser,
                .logging,
                .serviceLifecycle,
                .unixSignals,
            ], path: "Tests/Broker/NativeSSOCommandTests",
            resources: [.copy("Golden")], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

// The packages that only other packages use, for the same reason. RepositoryTests names one product of each, because SwiftPM
// complains of a package that no target uses.
if isExact {
    let pins: [(package: String, product: String, version: Version)] = [
        ("swift-algorithms", "Algorithms", "1.2.1"),
        ("swift-asn1", "SwiftASN1", "1.7.4"),
        ("swift-async-algorithms", "AsyncAlgorithms", "1.1.4"),
        ("swift-atomics", "Atomics", "1.3.0"),
        ("swift-certificates", "X509", "1.21.1"),
        ("swift-configuration", "Configuration", "1.4.0"),
        ("swift-distributed-tracing", "Tracing", "1.7.3"),
        ("swift-http-structured-headers", "StructuredFieldValues", "1.7.0"),
        ("swift-metrics", "Metrics", "2.13.0"),
        ("swift-nio-extras", "NIOExtras", "1.35.2"),
        ("swift-nio-transport-services", "NIOTransportServices", "1.28.0"),
        ("swift-numerics", "RealModule", "1.1.1"),
        ("swift-service-context", "ServiceContextModule", "1.5.1"),
        ("swift-system", "SystemPackage", "1.8.1"),
    ]
    for pin in pins {
        package.dependencies.append(.package(url: "https://github.com/apple/\(pin.package).git", exact: pin.version))
        package.targets.first { $0.name == "RepositoryTests" }?.dependencies
            .append(.product(name: pin.product, package: pin.package))
    }
}

// In the broker an async function runs where its caller runs: an exchange stays on its connection's event loop.
for target in package.targets where target.path?.hasPrefix("Sources/Broker/") == true {
    target.swiftSettings?.append(.enableUpcomingFeature("NonisolatedNonsendingByDefault"))
}
