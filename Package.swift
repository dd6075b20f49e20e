// swift-tools-version: 6.2
import PackageDescription

// Every target: Swift 6 mode, warnings are errors, `any` is spelled out, imports are internal unless said otherwise.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

extension Target.Dependency {
    static let crypto: Self = .product(name: "Crypto", package: "swift-crypto")
    static let cryptoExtras: Self = .product(name: "CryptoExtras", package: "swift-crypto")
}

let package = Package(
    name: "native-sso",
    dependencies: [
        // Exact, because warnings are errors: a build of this revision is the same build everywhere, and at any time.
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2")
    ],
    targets: [
        // The broker.
        .target(name: "StrictCoding", swiftSettings: strict),
        .target(name: "OAuthWire", dependencies: ["StrictCoding"], swiftSettings: strict),
        .target(name: "JOSE", dependencies: ["StrictCoding", .crypto, .cryptoExtras], swiftSettings: strict),

        .testTarget(name: "StrictCodingTests", dependencies: ["StrictCoding"], swiftSettings: strict),
        .testTarget(
            name: "OAuthWireTests", dependencies: ["OAuthWire", "StrictCoding"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
