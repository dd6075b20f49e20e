/// Of the program, as `--version` prints it.
enum Version {
    static let current = "0.1.0"
}
