"""What every room may use: parameter checks, texts safe to print, files written whole, threads, interrupts."""
