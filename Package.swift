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

extension Target.Dependency {
    static let argumentParser: Self = .product(name: "ArgumentParser", package: "swift-argument-parser")
    static let asyncHTTPClient: Self = .product(name: "AsyncHTTPClient", package: "async-http-client")
    static let crypto: Self = .product(name: "Crypto", package: "swift-crypto")
    static let cryptoExtras: Self = .product(name: "CryptoExtras", package: "swift-crypto")
    static let hummingbird: Self = .product(name: "Hummingbird", package: "hummingbird")
    static let hummingbirdTesting: Self = .product(name: "HummingbirdTesting", package: "hummingbird")
    static let hummingbirdCore: Self = .product(name: "HummingbirdCore", package: "hummingbird")
    static let httpTypes: Self = .product(name: "HTTPTypes", package: "swift-http-types")
    static let jwtKit: Self = .product(name: "JWTKit", package: "jwt-kit")
    static let logging: Self = .product(name: "Logging", package: "swift-log")
    static let nioCore: Self = .product(name: "NIOCore", package: "swift-nio")
    static let nioPosix: Self = .product(name: "NIOPosix", package: "swift-nio")
    static let nioEmbedded: Self = .product(name: "NIOEmbedded", package: "swift-nio")
    static let nioHTTP1: Self = .product(name: "NIOHTTP1", package: "swift-nio")
    static let nioHTTP2: Self = .product(name: "NIOHTTP2", package: "swift-nio-http2")
    static let nioHPACK: Self = .product(name: "NIOHPACK", package: "swift-nio-http2")
    static let nioTLS: Self = .product(name: "NIOTLS", package: "swift-nio")
    static let nioSSL: Self = .product(name: "NIOSSL", package: "swift-nio-ssl")
    static let serviceLifecycle: Self = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
    static let unixSignals: Self = .product(name: "UnixSignals", package: "swift-service-lifecycle")
    static let yams: Self = .product(name: "Yams", package: "Yams")
}

let package = Package(
    name: "native-sso",
    products: [
        .executable(name: "native-sso", targets: ["native-sso"]),
        .executable(name: "native-sso-dev", targets: ["native-sso-dev"]),
        .executable(name: "native-sso-bench", targets: ["native-sso-bench"]),
        .library(name: "TokenVerifier", targets: ["TokenVerifier", "TokenVerifierHummingbird"]),
        .library(name: "NativeSSOClient", targets: ["NativeSSOClient"]),
    ],
    dependencies: [
        // Exact, because warnings are errors: a build of this revision is the same build everywhere, and at any time.
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        // Tests only: an independent JWT implementation to compare with.
        .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    ],
    targets: [
        // The broker.
        .target(name: "StrictCoding", swiftSettings: strict),
        .target(name: "RegularFiles", swiftSettings: strict),
        .target(name: "NativeSSO", dependencies: ["StrictCoding", .crypto], swiftSettings: strict),
        .target(name: "OAuthWire", dependencies: ["StrictCoding"], swiftSettings: strict),
        .target(name: "JOSE", dependencies: ["StrictCoding", .crypto, .cryptoExtras], swiftSettings: strict),
        .target(
            name: "KeyModule", dependencies: ["NativeSSO", "JOSE", "StrictCoding", "COpenSSL"],
            swiftSettings: strictWithC),
        .target(name: "PostgresClient", dependencies: ["CLibPQ"], swiftSettings: strictWithC),
        .target(
            name: "Registry", dependencies: ["NativeSSO", "PostgresClient", "StrictCoding"], swiftSettings: strict),
        .plugin(name: "EmbedMigrations", capability: .buildTool(), path: "Sources/EmbedMigrations"),
        .target(
            name: "Migrations", path: "Migrations", swiftSettings: strict, plugins: ["EmbedMigrations"]),
        .target(
            name: "Migrator", dependencies: ["PostgresClient", "Migrations", .crypto], swiftSettings: strict),
        .target(
            name: "IdentityProvider",
            dependencies: [
                "NativeSSO", "OAuthWire", "JOSE", "StrictCoding", "RegularFiles", .asyncHTTPClient, .nioCore,
                .nioPosix, .nioHTTP1, .nioSSL, .logging,
            ],
            swiftSettings: strict),
        .target(
            name: "BrokerHTTP",
            dependencies: [
                "NativeSSO", "OAuthWire", "JOSE", "StrictCoding", .hummingbirdCore, .nioCore, .nioPosix, .nioHTTP1,
                .nioHTTP2, .nioHPACK, .nioTLS, .nioSSL, .logging, .serviceLifecycle,
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "native-sso",
            dependencies: [
                "NativeSSO", "OAuthWire", "JOSE", "KeyModule", "PostgresClient", "Registry", "Migrations", "Migrator",
                "IdentityProvider", "BrokerHTTP", "StrictCoding", "RegularFiles", .argumentParser, .yams, .logging,
                .serviceLifecycle,
                .unixSignals,
            ],
            swiftSettings: strict),

        // For those who meet it.
        .target(name: "TokenVerifier", dependencies: ["JOSE", "StrictCoding"], swiftSettings: strict),
        .target(
            name: "TokenVerifierHummingbird", dependencies: ["TokenVerifier", .hummingbird, .httpTypes],
            swiftSettings: strict),
        .target(name: "NativeSSOClient", dependencies: ["OAuthWire", "StrictCoding", .crypto], swiftSettings: strict),

        // Development only: never linked by the broker.
        .target(
            name: "DevelopmentIdP",
            dependencies: [
                "JOSE", "OAuthWire", "StrictCoding", .crypto, .cryptoExtras, .hummingbird, .httpTypes, .nioCore,
                .logging,
            ],
            swiftSettings: strict),
        .target(name: "ChildProcesses", swiftSettings: strict),
        .target(name: "PrivateCluster", dependencies: ["ChildProcesses"], swiftSettings: strict),
        .executableTarget(
            name: "native-sso-dev",
            dependencies: [
                "DevelopmentIdP", "NativeSSOClient", "PrivateCluster", "ChildProcesses", "TokenVerifier",
                "TokenVerifierHummingbird", "OAuthWire", "JOSE", "StrictCoding", .argumentParser, .asyncHTTPClient,
                .hummingbird, .httpTypes, .nioCore, .nioHTTP1, .logging, .unixSignals,
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "native-sso-bench",
            dependencies: [
                "BrokerTesting", "PrivateCluster", "ChildProcesses", "PostgresClient", "Registry", "OAuthWire", "JOSE",
                "StrictCoding", .argumentParser, .crypto, .cryptoExtras, .nioCore, .nioPosix, .nioSSL,
                .nioTLS,
            ],
            swiftSettings: strict),
        .target(
            name: "BrokerTesting",
            dependencies: [
                "NativeSSO", "JOSE", "StrictCoding", .crypto, .cryptoExtras, .nioCore, .nioPosix, .nioHPACK, .nioSSL,
            ],
            swiftSettings: strict),

        // What runs the programs as a whole.
        .target(
            name: "SystemTesting",
            dependencies: [
                "PrivateCluster", "ChildProcesses", "BrokerTesting", "JOSE", "OAuthWire", "StrictCoding", .crypto,
            ],
            path: "Tests/SystemTesting", swiftSettings: strict),
        .testTarget(name: "RepositoryTests", swiftSettings: strict),
        .testTarget(
            name: "AbuseTests",
            dependencies: ["SystemTesting", "BrokerTesting", "PrivateCluster", "JOSE", "StrictCoding", .crypto],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "SystemTesting", "BrokerTesting", "PrivateCluster", "JOSE", "OAuthWire", "StrictCoding", .crypto,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "LedgerTests",
            dependencies: ["SystemTesting", "BrokerTesting", "PrivateCluster", "JOSE", "StrictCoding"],
            swiftSettings: strict),

        // The readers of what comes from outside, under any octets. Also compiled by deploy/fuzz, which links it to libFuzzer.
        .testTarget(
            name: "FuzzingTests",
            dependencies: [
                "native-sso", "BrokerHTTP", "BrokerTesting", "IdentityProvider", "JOSE", "NativeSSO", "OAuthWire",
                "PostgresClient", "StrictCoding", .logging, .nioCore, .nioEmbedded, .nioHTTP1, .nioHPACK,
            ],
            swiftSettings: strict),

        // C libraries, each imported by one target.
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

        .testTarget(
            name: "RegistryTests",
            dependencies: [
                "Registry", "NativeSSO", "PostgresClient", "Migrator", "Migrations", "PrivateCluster", "BrokerTesting",
            ],
            swiftSettings: strict),
        .testTarget(name: "ChildProcessesTests", dependencies: ["ChildProcesses"], swiftSettings: strict),
        .testTarget(name: "PrivateClusterTests", dependencies: ["PrivateCluster"], swiftSettings: strict),
        .testTarget(
            name: "PostgresClientTests", dependencies: ["PostgresClient", "PrivateCluster"], swiftSettings: strict),
        .testTarget(
            name: "MigratorTests", dependencies: ["Migrator", "Migrations", "PostgresClient", "PrivateCluster"],
            swiftSettings: strict),
        .testTarget(name: "StrictCodingTests", dependencies: ["StrictCoding"], swiftSettings: strict),
        .testTarget(
            name: "OAuthWireTests", dependencies: ["OAuthWire", "StrictCoding"], swiftSettings: strict),
        .testTarget(
            name: "KeyModuleTests",
            dependencies: ["KeyModule", "ChildProcesses", "NativeSSO", "JOSE", "StrictCoding", .crypto, .jwtKit],
            swiftSettings: strict),
        .testTarget(
            name: "BrokerHTTPTests",
            dependencies: [
                "BrokerHTTP", "BrokerTesting", "NativeSSO", "OAuthWire", "JOSE", "StrictCoding", .hummingbirdCore,
                .logging, .nioCore, .nioPosix, .nioHTTP1, .nioHPACK, .nioSSL, .serviceLifecycle,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "JOSETests", dependencies: ["JOSE", "ChildProcesses", "StrictCoding", "BrokerTesting", .jwtKit],
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "IdentityProviderTests",
            dependencies: [
                "IdentityProvider", "NativeSSO", "OAuthWire", "JOSE", "StrictCoding", "BrokerTesting", .nioCore,
                .nioPosix, .nioSSL,
                .logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TokenVerifierTests",
            dependencies: ["TokenVerifier", "JOSE", "StrictCoding", "BrokerTesting", .crypto],
            swiftSettings: strict),
        .testTarget(
            name: "TokenVerifierHummingbirdTests",
            dependencies: [
                "TokenVerifierHummingbird", "TokenVerifier", "JOSE", "StrictCoding", "BrokerTesting", .hummingbird,
                .hummingbirdTesting, .httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "NativeSSOClientTests", dependencies: ["NativeSSOClient", "OAuthWire", "StrictCoding", "JOSE"],
            swiftSettings: strict),
        .testTarget(
            name: "DevelopmentIdPTests",
            dependencies: [
                "DevelopmentIdP", "JOSE", "OAuthWire", "StrictCoding", .crypto, .hummingbird, .hummingbirdTesting,
                .httpTypes, .nioCore, .logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DevelopmentToolTests",
            dependencies: [
                "native-sso-dev", "ChildProcesses", "DevelopmentIdP", "NativeSSOClient", "OAuthWire", "PrivateCluster",
                "StrictCoding", "SystemTesting", .hummingbird, .hummingbirdTesting, .logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "BenchmarkToolTests",
            dependencies: [
                "native-sso-bench", "SystemTesting", "BrokerTesting", "Migrator", "PostgresClient", "PrivateCluster",
                "Registry", "JOSE", "OAuthWire", "StrictCoding",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "NativeSSOTests", dependencies: ["NativeSSO", "BrokerTesting", "StrictCoding"],
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "NativeSSOProcessTests",
            dependencies: [
                "native-sso", "BrokerTesting", "ChildProcesses", "JOSE", "NativeSSO", "PrivateCluster", "StrictCoding",
                .asyncHTTPClient, .nioCore, .nioHTTP1,
            ], swiftSettings: strict),
        .testTarget(
            name: "NativeSSOCommandTests",
            dependencies: [
                "native-sso", "BrokerHTTP", "BrokerTesting", "ChildProcesses", "IdentityProvider", "NativeSSO", "JOSE",
                "OAuthWire",
                "PostgresClient", "StrictCoding", .logging,
                .serviceLifecycle,
                .unixSignals,
            ],
            resources: [.copy("Golden")], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
